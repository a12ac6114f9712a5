import { Injectable } from '@nestjs/common';
import { DistributeLock } from 'nestjs-distribute-lock';
import { DataSource } from 'typeorm';

export interface PaymentReceived {
  readonly messageId: string;
  readonly account: string;
  readonly amount: number;
}

@Injectable()
export class PaymentsConsumer {
  constructor(private readonly database: DataSource) {}

  /** Called by any source with at-least-once delivery: Kafka, RabbitMQ, SQS, webhooks ... */
  @DistributeLock({ key: 'message:#{arg0.messageId}', wait: '30s' })
  async handle({ messageId, account, amount }: PaymentReceived): Promise<void> {
    await this.database.transaction(async (transaction) => {
      const seen = await transaction.query<unknown[]>('SELECT 1 FROM inbox WHERE id = ?', [messageId]);
      if (seen.length > 0) return;
      await transaction.query('INSERT INTO inbox (id) VALUES (?)', [messageId]); // the primary key of the table
      await transaction.query('UPDATE accounts SET balance = balance + ? WHERE id = ?', [amount, account]);
    });
  }
}
