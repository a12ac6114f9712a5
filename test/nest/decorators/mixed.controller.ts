import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { CacheInterceptor, CacheTTL } from '@nestjs/cache-manager';
import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiConflictResponse, ApiHeader, ApiOperation, ApiProperty } from '@nestjs/swagger';
import { Throttle } from '@nestjs/throttler';
import { IsString } from 'class-validator';
import { DistributeLock } from 'nestjs-distribute-lock';

import { DomainError, ROLE, Roles } from './around.js';
import type { Combination, DecoratorName } from './combinations.js';

class OrderDto {
  @ApiProperty({ example: 'web' })
  @IsString()
  channel!: string;
}

const DECORATORS: Readonly<Record<DecoratorName, { post: MethodDecorator; get: MethodDecorator }>> = {
  route: { post: Post(':id'), get: Get(':id') },
  status: both(HttpCode(202)),
  guard: both(UseGuards(Roles)),
  role: both(SetMetadata(ROLE, 'clerk')),
  operation: both(ApiOperation({ summary: 'what it does', operationId: 'own' })),
  responses: both(ApiConflictResponse({ description: 'busy' })),
  header: both(ApiHeader({ name: 'x-role' })),
  throttle: { post: Throttle({ default: { limit: 5, ttl: 60_000 } }), get: SetMetadata('no', 'limit') },
  cache: { post: SetMetadata('no', 'cache'), get: UseInterceptors(CacheInterceptor) },
  cacheTtl: both(CacheTTL(60_000)),
  transaction: both(Transactional()),
  lock: { post: lockOn('order:#{params.id}:#{body.channel}'), get: lockOn('order:#{arg0}') },
};

/** A controller whose handlers carry the decorators in the order of `names`, the first one on top. */
export function controllerOf(names: Combination): Type {
  const stacked =
    (method: 'post' | 'get'): MethodDecorator =>
    (target, name, descriptor) => {
      for (const decorator of [...names].reverse()) DECORATORS[decorator][method](target, name, descriptor);
    };

  @Controller('orders')
  class Orders {
    runs = 0;

    constructor(private readonly database: TransactionHost<TransactionalAdapterTypeOrm>) {}

    @stacked('post')
    async open(@Param('id', ParseIntPipe) id: number, @Body() order: OrderDto): Promise<object> {
      await this.database.tx.query('INSERT INTO orders (id) VALUES (?)', [id]);
      if (id === 13) throw new DomainError('thirteen');
      return { id, ...order };
    }

    @stacked('get')
    async read(@Param('id', ParseIntPipe) id: number, @Headers('x-role') role: string): Promise<object> {
      this.runs += 1;
      return { id, role, runs: this.runs };
    }
  }
  return Orders;
}

function both(decorator: MethodDecorator): { post: MethodDecorator; get: MethodDecorator } {
  return { post: decorator, get: decorator };
}

function lockOn(key: string): MethodDecorator {
  return DistributeLock({ key }) as MethodDecorator;
}
