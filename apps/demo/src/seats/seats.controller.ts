import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiGoneResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { CurrentLease, DistributeLock, type Lease, LockService } from 'nestjs-distribute-lock';

import { LONGEST_WAIT_MS } from '../settings/demo-settings.js';
import { ParseIdPipe } from '../work/parse-id.pipe.js';
import { WorkDone } from '../work/work-done.js';
import { WorkService } from '../work/work.service.js';
import { CancelAnswer, ConfirmDto, Reservation, ReserveDto, TicketDto } from './seats.dto.js';
import { refuseTicket } from './refuse-ticket.js';

const HOLD_MS = 600_000;

/** A checkout: a seat stays locked from the request that reserves it until the request that confirms it, on any instance. */
@ApiTags('seats')
@Controller('seats')
export class SeatsController {
  constructor(
    private readonly locks: LockService,
    private readonly work: WorkService,
  ) {}

  @Post(':seat/reserve')
  @DistributeLock({ key: 'seat:#{params.seat}', ttl: '10s' })
  @ApiOperation({ summary: 'Locks a seat beyond the request, and returns a ticket for it; not on a quorum' })
  @ApiCreatedResponse({ type: Reservation })
  @ApiConflictResponse({ description: 'The seat is reserved' })
  async reserve(
    @Param('seat', ParseIdPipe) _seat: number,
    @Body() body: ReserveDto,
    @CurrentLease() lease: Lease,
  ): Promise<Reservation> {
    return hold(lease, body);
  }

  @Post(':seat/reserve/wait')
  @DistributeLock({ key: 'seat:#{params.seat}', ttl: '10s', wait: LONGEST_WAIT_MS })
  @ApiOperation({ summary: 'The same, but waits up to 15 s for the seat' })
  @ApiCreatedResponse({ type: Reservation })
  @ApiConflictResponse({ description: 'The seat was reserved for longer than the request waits' })
  async reserveInTurn(
    @Param('seat', ParseIdPipe) _seat: number,
    @Body() body: ReserveDto,
    @CurrentLease() lease: Lease,
  ): Promise<Reservation> {
    return hold(lease, body);
  }

  @Post('confirm')
  @HttpCode(200)
  @ApiOperation({ summary: 'Continues the lock of the ticket, works under it, and releases it; a ticket works once' })
  @ApiOkResponse({ type: WorkDone })
  @ApiBadRequestResponse({ description: 'The text is not a ticket' })
  @ApiGoneResponse({ description: 'The ticket was used, has expired, or was cancelled' })
  async confirm(@Body() { ticket, workMs }: ConfirmDto): Promise<WorkDone> {
    await using lease = await this.locks.attach(ticket, { ttl: '10s' }).catch(refuseTicket);
    return await this.work.run(lease, workMs);
  }

  @Post('cancel')
  @HttpCode(200)
  @ApiOperation({ summary: 'Releases the seat; the next waiting request gets it' })
  @ApiOkResponse({ type: CancelAnswer })
  @ApiBadRequestResponse({ description: 'The text is not a ticket' })
  async cancel(@Body() { ticket }: TicketDto): Promise<CancelAnswer> {
    return { cancelled: await this.locks.cancel(ticket).catch(refuseTicket) };
  }
}

async function hold(lease: Lease, { holdMs = HOLD_MS }: ReserveDto): Promise<Reservation> {
  const until = new Date(Date.now() + holdMs).toISOString();
  return { ticket: await lease.detach({ ttl: holdMs }), until };
}
