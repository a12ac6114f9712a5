import { DistributeLock } from 'nestjs-distribute-lock';

/** A service with a locked method. Its decorator is applied by {@link decorate}. */
export class Decorated {
  async settle(invoice) {
    return invoice.id;
  }
}

/** The compiled form of `@DistributeLock(...)`, and of the constructor types. */
export function decorate(options) {
  const method = Object.getOwnPropertyDescriptor(Decorated.prototype, 'settle');
  const lock = DistributeLock({ key: 'invoice:#{arg0.id}', ...options });
  Object.defineProperty(Decorated.prototype, 'settle', lock(Decorated.prototype, 'settle', method) ?? method);
}
