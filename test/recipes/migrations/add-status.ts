import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration that waits for the test. */
export class AddStatus1700000000000 implements MigrationInterface {
  static began = 0;
  static gate: Promise<void> = Promise.resolve();

  async up(runner: QueryRunner): Promise<void> {
    AddStatus1700000000000.began += 1;
    await AddStatus1700000000000.gate;
    await runner.query("ALTER TABLE orders ADD COLUMN status TEXT NOT NULL DEFAULT 'new'");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN status');
  }
}
