import { CurrentLease, DistributeLock, type DistributeLockOptions, type Lease } from 'nestjs-distribute-lock';
import { Observable, of } from 'rxjs';

enum Channel {
  web = 'web',
  shop = 'shop',
}

enum Level {
  low,
  high,
}

type OrderId = string & { readonly brand: unique symbol };
type Version = number & { readonly brand: unique symbol };

class Line {
  sku!: string;
  amount!: number;
}

class Order {
  id!: OrderId;
  version!: Version;
  channel!: Channel;
  level!: Level;
  total!: bigint;
  paid!: boolean;
  kind!: 'gift' | 'usual';
  note?: string;
  customer?: { id: number; address: { zip: string } | null };
  reference!: string | null | undefined;
  readonly lines!: readonly Line[];
  readonly range!: readonly [number, number];
  readonly path!: [string, ...number[]];
  readonly tags!: ReadonlyArray<string>;
  labels!: Record<string, string>;
  byNumber!: Record<number, Line>;
  anything!: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any
  loose!: any;
  when!: Date;
}

interface Card {
  readonly type: 'card';
  readonly card: string;
}

interface Bank {
  readonly type: 'bank';
  readonly iban: string;
}

/** Like the requests of Express and Fastify: the body has no type, or a custom one. */
interface ExpressRequest {
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  readonly method: string;
  emit(event: string): boolean;
}

interface FastifyRequest {
  readonly body: unknown;
  readonly method: string;
}

interface Response {
  readonly statusCode: number;
  send(body: unknown): this;
}

declare const ANY_KEY: string;
const PREFIX = 'order';
const shared = { key: 'order:#{body.id}', ttl: '10s', onContended: 'skip' } as const satisfies DistributeLockOptions;
const declared: DistributeLockOptions = { key: 'order:#{arg0.id}' };

export class ScalarsOfEveryKind {
  @DistributeLock({ key: 'report' })
  async noHole(): Promise<void> {}

  @DistributeLock({ keys: ['{#{arg0}}:lines', 'a:b', 'a_:b:c', 'a_:#{arg0}_b', '#{arg0}:b', 'a/:1', '{}', '{a b}'] })
  async colonsAndBraces(_id: string): Promise<void> {}

  @DistributeLock({ key: '#{body.id}:#{body.version}:#{body.channel}:#{body.level}' })
  async brandedAndEnum(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0.total}:#{arg0.paid}:#{arg0.kind}' })
  async bigintBooleanAndUnion(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0.note}:#{arg0.reference}:#{arg0.customer.id}:#{arg0.customer.address.zip}' })
  async optionalAndNullable(_order?: Order | null): Promise<void> {}

  @DistributeLock({ key: '#{arg0.lines.0.sku}:#{arg0.lines.length}:#{arg0.tags.7}' })
  async arrays(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0.range.1}:#{arg0.path.0}:#{arg0.path.5}' })
  async tuples(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0.labels.color}:#{arg0.byNumber.3.sku}' })
  async records(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0.anything.you.like}:#{arg0.loose.as.well}:#{arg0.loose}' })
  async unknownAndAny(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{arg0}:#{arg1}:#{arg2}' })
  async plainArguments(_id: OrderId, _level?: Level, _paid: boolean = false): Promise<void> {}

  @DistributeLock({ key: '#{arg0.type}:#{arg0.iban}' })
  async membersOfAUnion(_payment: Card | Bank): Promise<void> {}

  @DistributeLock({ key: '#{arg0.id}:#{arg1.3.sku}' })
  async readonlyParameters(_order: Readonly<Partial<Order>>, _lines: readonly Line[]): Promise<void> {}

  @DistributeLock({ key: '#{arg0}:#{arg4.sku}' })
  async rest(_id: string, ..._lines: Line[]): Promise<void> {}

  @DistributeLock({ key: '#{arg9.x}:#{body.y}' })
  // oxlint-disable-next-line typescript/no-explicit-any
  async anyRest(..._all: any[]): Promise<void> {}

  @DistributeLock({ key: '#{arg0.opaque}:#{arg1.x}' })
  async opaque(_one: object, _other: {}): Promise<void> {}
}

export class TheRequest {
  @DistributeLock({ key: '#{body.channel}:#{body.deep.er}:#{arg0.channel}' })
  // oxlint-disable-next-line typescript/no-explicit-any
  async anyBody(_body: any): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}:#{arg0.channel}:#{arg0}' })
  async unknownBody(_body: unknown): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}:#{arg0.channel}' })
  async record(_body: Record<string, string | undefined>): Promise<void> {}

  @DistributeLock({ key: '#{body.id}:#{body.sku}:#{arg0.extra}' })
  async mapped(_body: Partial<Omit<Order, 'when'>> & Pick<Line, 'sku'> & { extra: 1 | 2n | true }): Promise<void> {}

  @DistributeLock({ key: '#{body.text}' })
  async bodyWithABody(_mail: { readonly text: string; readonly body: string }): Promise<void> {}

  @DistributeLock({ key: 'post_test_#{body.channel}', ttl: '10s' })
  async body(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{body.sku}:#{body.iban}' })
  async anyObjectMayBeTheBody(_id: string, _line: Line, _bank: Bank): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}' })
  async noObjectAtAll(_channel: string): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}:#{data.id}' })
  async noParameter(): Promise<void> {}

  @DistributeLock({ key: '#{body}:#{user}:#{ip}' })
  async wholeRoots(_text: string): Promise<void> {}

  @DistributeLock({ key: '#{params.id}:#{query.page}:#{headers.x-tenant}:#{user.org.id}:#{ip}:#{args.input.id}' })
  async unchecked(_order: Order): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}' })
  async request(_channel: string, _request: ExpressRequest): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}' })
  async requestWithUnknownBody(_request: FastifyRequest): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}' })
  async response(_channel: string, _response: Response, _next: () => void): Promise<void> {}

  @DistributeLock({ key: '#{body.channel}' })
  async lease(_channel: string, @CurrentLease() _lease?: Lease): Promise<void> {}

  @DistributeLock({ key: '#{data.id}' })
  async payload(_order: Order, _context: { getArgs(): unknown[] }): Promise<void> {}

  @DistributeLock({ key: '#{data}' })
  async wholePayload(_id: number, _context: { getArgs(): unknown[] }): Promise<void> {}

  @DistributeLock({ key: '#{body.0.sku}' })
  async list(_lines: Line[]): Promise<void> {}
}

export class Options {
  @DistributeLock({ key: ANY_KEY })
  async notALiteral(_line: Line): Promise<void> {}

  @DistributeLock({ key: `${PREFIX}:#{arg0.sku}` })
  async joined(_line: Line): Promise<void> {}

  @DistributeLock({ key: `${ANY_KEY}:#{arg0.sku}` })
  async partlyKnown(_line: Line): Promise<void> {}

  @DistributeLock(shared)
  async elsewhere(_order: Order): Promise<void> {}

  @DistributeLock({ ...shared, wait: '5s' })
  async spread(_order: Order): Promise<void> {}

  @DistributeLock(declared)
  async typedElsewhere(_line: Line): Promise<void> {}

  @DistributeLock({ key: (order: Order, id) => `${order.id}:${String(id)}` })
  async keyFunction(_order: Order, _id: number): Promise<void> {}

  @DistributeLock({ key: '#{arg0.sku}', onContended: (_info, line: Line) => line.amount })
  async answer(_line: Line): Promise<number> {
    return 1;
  }

  @DistributeLock({ key: 'outer:#{arg0.sku}' })
  @DistributeLock({ key: 'inner:#{arg0.amount}' })
  async stacked(_line: Line): Promise<void> {}
}

export class Results {
  @DistributeLock({ key: '#{arg0.sku}' })
  async *generator(line: Line): AsyncGenerator<Line> {
    yield line;
  }

  @DistributeLock({ key: '#{arg0.sku}' })
  observable(line: Line): Observable<Line> {
    return of(line);
  }

  @DistributeLock({ key: '#{arg0.sku}' })
  private async hidden(_line: Line): Promise<void> {}

  @DistributeLock({ key: '#{arg0.id}:#{arg1}' })
  async generic<T extends { id: string }, U extends string>(item: T, name: U): Promise<[T, U]> {
    return [item, name];
  }

  @DistributeLock({ key: '#{arg0.id}' })
  async genericWithoutBound<T>(item: T): Promise<T> {
    return item;
  }

  async calls(): Promise<void> {
    await this.hidden(new Line());
  }
}

export class GenericClass<T extends { id: string }, U> {
  @DistributeLock({ key: '#{arg0.id}' })
  async bound(_item: T): Promise<void> {}

  @DistributeLock({ key: '#{body.id}:#{arg1.0.x}' })
  async nested(_item: Partial<T>, _list: U[]): Promise<void> {}

  @DistributeLock({ key: '#{arg1}' })
  async beside(_item: T, _id: string): Promise<void> {}

  @DistributeLock({ key: (item: { id: string }) => item.id })
  async keyFunction(_item: T): Promise<void> {}
}

export class Instances<T extends { id: string }> {
  private readonly tenant = 'eu';
  protected readonly ttl = '5s';

  @DistributeLock({
    key(this: Instances<{ id: string }>, item: { id: string }) {
      return `${this.tenant}:${item.id}`;
    },
    options: (instance: Instances<{ id: string }>) => ({ ttl: instance.ttl }),
  })
  async ofAGenericClass(item: T): Promise<T> {
    return item;
  }
}
