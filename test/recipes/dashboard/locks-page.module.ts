import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { LockModule } from 'nestjs-distribute-lock';
import { LockDashboardModule } from 'nestjs-distribute-lock/dashboard';

/** Your guard decides who is an operator. */
@Injectable()
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return headers['x-role'] === 'operator';
  }
}

@Module({
  imports: [
    LockModule.forRoot({ connection: process.env['REDIS_URL'] ?? 'redis://localhost:6379' }),
    LockDashboardModule.forRoot({ guard: OperatorGuard, path: 'admin/locks' }),
  ],
})
export class LocksPageModule {}
