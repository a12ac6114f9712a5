export class PaymentDto {
  readonly orderId!: string;
}
