import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';

export const ROLE = 'role';

/** Accepts requests of the role in the metadata of the handler. */
export class Roles implements CanActivate {
  private readonly reflector = new Reflector();

  canActivate(context: ExecutionContext): boolean {
    const wanted = this.reflector.get<string | undefined>(ROLE, context.getHandler());
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return wanted !== undefined && headers['x-role'] === wanted;
  }
}

/** An application error that only the global filter of the application handles. */
export class DomainError extends Error {}

@Catch(DomainError)
export class DomainFilter implements ExceptionFilter {
  catch({ message }: DomainError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { json(body: unknown): void } }>();
    response.status(418).json({ domain: message });
  }
}
