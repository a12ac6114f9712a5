import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity()
export class Stock {
  @PrimaryColumn('text')
  readonly sku!: string;

  @Column('integer')
  readonly amount!: number;

  /** The largest fencing token that has written the row. */
  @Column('bigint', { default: 0 })
  readonly fence!: number;
}
