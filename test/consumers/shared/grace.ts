/** Closes applications, and sends requests while a hook of the application runs, in every order of imports. */
import 'reflect-metadata';
import { Controller, type DynamicModule, Get, Module, type ModuleMetadata, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributeLock, LockModule } from 'nestjs-distribute-lock';

@Controller()
class Work {
  @Get()
  free(): string {
    return 'free';
  }

  @Post()
  @DistributeLock({ key: 'grace' })
  async locked(): Promise<string> {
    return 'locked';
  }
}

@Module({})
class GraceModule {}

@Module({})
class OuterModule {}

type Order = (lock: DynamicModule, own: DynamicModule) => ModuleMetadata;

const within = (inner: DynamicModule): DynamicModule => ({ module: OuterModule, imports: [inner] });
const everywhere = (module: DynamicModule): DynamicModule => ({ ...module, global: true });

const ORDERS: Record<string, Order> = {
  'module before': (lock, own) => ({ imports: [own, lock] }),
  'module after': (lock, own) => ({ imports: [lock, own] }),
  'global module before': (lock, own) => ({ imports: [everywhere(own), lock] }),
  'global module after': (lock, own) => ({ imports: [lock, everywhere(own)] }),
  'nested module before': (lock, own) => ({ imports: [within(own), lock] }),
  'nested module after': (lock, own) => ({ imports: [lock, within(own)] }),
  'module, lock nested': (lock, own) => ({ imports: [own, within(lock)] }),
  'module that imports the lock': (lock, own) => ({ imports: [{ ...own, imports: [lock] }] }),
  'root module': (lock, { providers = [] }) => ({ imports: [lock], providers }),
};

/** The statuses of a free and of a locked request, for each place of the hook. */
export async function grace(): Promise<Record<string, unknown>> {
  const report: Record<string, unknown> = {};
  for (const [place, order] of Object.entries(ORDERS)) report[place] = await duringGrace(order);
  return report;
}

async function duringGrace(order: Order): Promise<unknown> {
  let url = '';
  let answers: unknown = 'no hook ran';
  const status = async (method: string): Promise<number> =>
    (await fetch(url, { method, headers: { connection: 'close' } })).status;
  const hook = {
    async beforeApplicationShutdown(): Promise<void> {
      answers = await Promise.all([status('GET'), status('POST')]).catch((error: unknown) => String(error));
    },
  };
  const module: DynamicModule = { module: GraceModule, providers: [{ provide: 'grace', useValue: hook }] };
  const root = { ...order(LockModule.forRoot({ connection: 'memory' }), module), controllers: [Work] };
  const app = await NestFactory.create({ module: class Root {}, ...root }, { logger: false });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  await app.close();
  return answers;
}
