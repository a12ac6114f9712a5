import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { ImATeapotException, type INestApplication } from '@nestjs/common';
import {
  Args,
  Field,
  GraphQLModule,
  ID,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { Test } from '@nestjs/testing';
import { CurrentLease, DistributeLock, type Lease, LockModule, LockService } from 'nestjs-distribute-lock';

import { useRedis } from '../support/use-redis.js';
import { REFUSED, showLocked } from './support/show-locked.js';
import { stage } from './support/stage.js';

@ObjectType()
class Order {
  @Field(() => ID)
  id!: string;

  @Field(() => String)
  state?: string;
}

@Resolver(() => Order)
class Orders {
  constructor(private readonly locks: LockService) {}

  @Query(() => String)
  @DistributeLock({ key: 'read:#{args.id}' })
  async read(@Args('id') _id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Mutation(() => String)
  @DistributeLock({ key: 'settle:#{arg0}' })
  async settle(@Args('id') _id: string, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Query(() => Order)
  async order(@Args('id') id: string): Promise<Order> {
    return { id };
  }

  @ResolveField(() => String)
  @DistributeLock({ key: 'state:#{arg0.id}' })
  async state(@Parent() _order: Order, @CurrentLease() lease?: Lease): Promise<string> {
    return stage.play(lease, this.locks.current());
  }

  @Query(() => String)
  @DistributeLock({ key: 'read:7', wait: 1 })
  async patient(): Promise<string> {
    return 'free';
  }
}

interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: { readonly message: string; readonly extensions: Record<string, unknown> }[];
}

describe.each([
  ['', ['interceptors']],
  [' without enhancers of fields', []],
] as const)('over GraphQL%s', (_name, fieldResolverEnhancers) => {
  const redis = useRedis();
  let app: INestApplication;
  let url: string;

  async function ask(query: string): Promise<Answer> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as Answer;
  }

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [
        LockModule.forRoot({
          connection: redis.url,
          prefix: redis.prefix,
          errors: { LOCK_WAIT_TIMEOUT: () => new ImATeapotException('short and stout') },
        }),
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          fieldResolverEnhancers: [...fieldResolverEnhancers],
          playground: false,
        }),
      ],
      providers: [Orders],
    }).compile();
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  it.each([
    ['@Query', 'read:7', '{ read(id: "7") }', { read: 'done' }],
    ['@Mutation', 'settle:7', 'mutation { settle(id: "7") }', { settle: 'done' }],
    ['@ResolveField', 'state:7', '{ order(id: "7") { state } }', { order: { state: 'done' } }],
  ])('locks a resolver of %s', async (_what, key, query, data) => {
    await showLocked(redis, {
      key,
      call: () => ask(query),
      refused: async () => {
        const [error] = (await ask(query)).errors ?? [];
        // Nest shows errors of fields to interceptors only with this option; the lock does not need it.
        if (key.startsWith('state') && fieldResolverEnhancers.length === 0) {
          expect(error).toMatchObject({ path: ['order', 'state'] });
          return;
        }
        expect(error?.message).toBe(REFUSED.message);
        const { code, retryAfterMs } = REFUSED;
        expect(error?.extensions).toMatchObject({ code, retryAfterMs, status: 409 });
        expect(error?.extensions['originalError']).toEqual({ statusCode: 409, ...REFUSED });
      },
      answer: { data },
    });
  });

  it('responds with an exception of the user where the module has one', async () => {
    const held = await app.get(LockService).acquire('read:7');
    expect((await ask('{ patient }')).errors?.[0]?.message).toBe('short and stout');
    await held.release();
  });
});
