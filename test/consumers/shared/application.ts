/** The application that every consumer builds in its own way. */
import 'reflect-metadata';
import { type CanActivate, Controller, Get, Injectable, Module, Param, Post, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
// `Lease` without `type`, as editors import it: the metadata of decorators needs a value.
import { CurrentLease, currentLease, DistributeLock, Lease, LockModule, LockService } from 'nestjs-distribute-lock';

/** Keeps a call inside its method until a test releases it. */
@Injectable()
export class Gate {
  private enter!: () => void;
  private open!: () => void;
  entered!: Promise<void>;
  opened!: Promise<void>;

  constructor() {
    this.close();
  }

  close(): void {
    this.entered = new Promise((resolve) => (this.enter = resolve));
    this.opened = new Promise((resolve) => (this.open = resolve));
  }

  pass(): Promise<void> {
    this.enter();
    return this.opened;
  }

  letGo(): void {
    this.open();
  }
}

@Injectable()
export class Invoices {
  constructor(
    private readonly gate: Gate,
    private readonly locks: LockService,
  ) {}

  @DistributeLock({ key: 'invoice:#{arg0}', ttl: '5s' })
  async settle(id: string, @CurrentLease() lease?: Lease): Promise<{ id: string; held: boolean }> {
    await this.gate.pass();
    const held = currentLease().fencingToken > 0 && this.locks.current() === lease;
    return { id, held: held && lease instanceof Lease };
  }
}

/** Refuses with the error of the lock while the invoice is settled. */
@Injectable()
export class NotSettling implements CanActivate {
  constructor(private readonly locks: LockService) {}

  async canActivate(): Promise<boolean> {
    return this.locks.withLock('invoice:42', (lease) => lease.isHeld());
  }
}

@Controller('invoices')
class InvoicesController {
  constructor(private readonly invoices: Invoices) {}

  @Post(':id')
  settle(@Param('id') id: string): Promise<{ id: string; held: boolean }> {
    return this.invoices.settle(id);
  }

  @Get('guarded')
  @UseGuards(NotSettling)
  guarded(): void {}

  @EventPattern({ event: 'settled' })
  @DistributeLock({ key: 'invoice:42' })
  async settled(): Promise<void> {}

  @MessagePattern('settle')
  settleMessage(@Payload() id: string): Promise<{ id: string; held: boolean }> {
    return this.invoices.settle(id);
  }
}

@Module({
  imports: [LockModule.forRootAsync({ useFactory: () => ({ connection: process.env['REDIS_URL'] }) })],
  controllers: [InvoicesController],
  providers: [Gate, Invoices, NotSettling],
})
export class AppModule {}
