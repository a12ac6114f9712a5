import { CurrentLease, DistributeLock, type DistributeLockOptions, type Lease } from 'nestjs-distribute-lock';

class Line {
  sku!: string;
  amount!: number;
}

class Order {
  id!: string;
  when!: Date;
  customer?: { id: number; name: string };
  readonly lines!: readonly Line[];
  readonly range!: readonly [number, number];
  labels!: Record<string, Date>;
  mixed!: string | string[];
  mark!: symbol;
  private secret!: string;

  total(): number {
    return this.secret.length;
  }
}

const shared = { key: 'order:#{body.idd}', ttl: '10s' } as const satisfies DistributeLockOptions;

/** Never called, because most of these would be rejected at import, too. */
export const paths = () => {
  class Paths {
    // @ts-expect-error a typo in the name
    @DistributeLock({ key: 'post_test_#{body.idd}' })
    async slip(_order: Order): Promise<void> {}

    // @ts-expect-error the second placeholder is wrong
    @DistributeLock({ key: '#{body.id}:#{body.idd}:#{ip}' })
    async secondHole(_order: Order): Promise<void> {}

    // @ts-expect-error no parameter has this property
    @DistributeLock({ key: '#{body.iban}' })
    async noneOfSeveral(_order: Order, _line: Line): Promise<void> {}

    // @ts-expect-error the parameter lacks this property, optional or not
    @DistributeLock({ key: '#{body.iban}' })
    async optional(_order?: Order | null): Promise<void> {}

    // @ts-expect-error the lease is not the body; the order is
    @DistributeLock({ key: '#{body.fencingToken}' })
    async lease(_order: Order, @CurrentLease() _lease?: Lease): Promise<void> {}

    // @ts-expect-error the payload lacks this property
    @DistributeLock({ key: '#{data.idd}' })
    async payload(_order: Order): Promise<void> {}

    // @ts-expect-error the whole body is an object
    @DistributeLock({ key: '#{body}' })
    async wholeBody(_order: Order): Promise<void> {}

    // @ts-expect-error a mapped type omits this property
    @DistributeLock({ key: '#{body.id}' })
    async mapped(_order: Omit<Order, 'id'>): Promise<void> {}

    // @ts-expect-error a typo deep in the path
    @DistributeLock({ key: '#{arg0.customer.nam}' })
    async deepSlip(_order: Order): Promise<void> {}

    // @ts-expect-error a string has no properties in a path
    @DistributeLock({ key: '#{arg0.customer.name.length}' })
    async throughScalar(_order: Order): Promise<void> {}

    // @ts-expect-error an object is not a string
    @DistributeLock({ key: '#{body.customer}' })
    async object(_order: Order): Promise<void> {}

    // @ts-expect-error a Date has many string forms
    @DistributeLock({ key: '#{arg0.when}' })
    async date(_order: Order): Promise<void> {}

    // @ts-expect-error an array is not a string
    @DistributeLock({ key: '#{arg0.lines}' })
    async array(_order: Order): Promise<void> {}

    // @ts-expect-error an element is an object
    @DistributeLock({ key: '#{arg0.lines.0}' })
    async element(_order: Order): Promise<void> {}

    // @ts-expect-error an array has no property of that name
    @DistributeLock({ key: '#{arg0.lines.sku}' })
    async indexForgotten(_order: Order): Promise<void> {}

    // @ts-expect-error the tuple is shorter
    @DistributeLock({ key: '#{arg0.range.2}' })
    async beyondTheTuple(_order: Order): Promise<void> {}

    // @ts-expect-error the values of the record are dates
    @DistributeLock({ key: '#{arg0.labels.first}' })
    async recordOfDates(_order: Order): Promise<void> {}

    // @ts-expect-error a list in the union is not a string
    @DistributeLock({ key: '#{arg0.mixed}' })
    async sometimesAList(_order: Order): Promise<void> {}

    // @ts-expect-error a symbol is not a string
    @DistributeLock({ key: '#{arg0.mark}' })
    async symbol(_order: Order): Promise<void> {}

    // @ts-expect-error methods are not called
    @DistributeLock({ key: '#{arg0.total}' })
    async method(_order: Order): Promise<void> {}

    // @ts-expect-error a private property is not accessible
    @DistributeLock({ key: '#{arg0.secret}' })
    async hidden(_order: Order): Promise<void> {}

    // @ts-expect-error no member of the union has this property
    @DistributeLock({ key: '#{arg0.iban}' })
    async union(_payment: Order | Line): Promise<void> {}

    // @ts-expect-error the constraint of the parameter lacks this property
    @DistributeLock({ key: '#{arg0.sku}' })
    async generic<T extends { id: string }>(item: T): Promise<T> {
      return item;
    }
  }
  return Paths;
};

/** Never called, see above. */
export const templates = () => {
  class Templates {
    // @ts-expect-error not closed
    @DistributeLock({ key: 'post_test_#{body.id' })
    async open(_order: Order): Promise<void> {}

    // @ts-expect-error the second placeholder is not closed
    @DistributeLock({ key: '#{body.id}:#{body.id' })
    async secondOpen(_order: Order): Promise<void> {}

    // @ts-expect-error empty placeholder
    @DistributeLock({ key: 'a#{}' })
    async emptyHole(_order: Order): Promise<void> {}

    // @ts-expect-error no spaces in a placeholder
    @DistributeLock({ key: '#{ body.id }' })
    async spaces(_order: Order): Promise<void> {}

    // @ts-expect-error an index is written like a name
    @DistributeLock({ key: '#{body.lines[0].sku}' })
    async brackets(_order: Order): Promise<void> {}

    // @ts-expect-error one dot too many
    @DistributeLock({ key: '#{params.}' })
    async dotAtTheEnd(_order: Order): Promise<void> {}

    // @ts-expect-error empty key
    @DistributeLock({ key: '' })
    async emptyKey(_order: Order): Promise<void> {}

    // @ts-expect-error a placeholder starts with #
    @DistributeLock({ key: 'a:${body.id}' })
    async dollar(_order: Order): Promise<void> {}

    // @ts-expect-error no separator between two placeholders
    @DistributeLock({ key: '#{arg0}#{arg1}' })
    async nothingBetween(_one: string, _other: string): Promise<void> {}

    // @ts-expect-error % between two placeholders
    @DistributeLock({ key: '#{arg0}%#{arg1}' })
    async percentBetween(_one: string, _other: string): Promise<void> {}

    // @ts-expect-error parameter names do not survive compilation
    @DistributeLock({ key: '#{order.id}' })
    async parameterName(order: Order): Promise<Order> {
      return order;
    }

    // @ts-expect-error bdy is not a root
    @DistributeLock({ key: '#{bdy.id}' })
    async unknownRoot(_order: Order): Promise<void> {}

    // @ts-expect-error arguments are counted from 0, without leading zeros
    @DistributeLock({ key: '#{arg00.id}' })
    async oddNumber(_order: Order): Promise<void> {}

    // @ts-expect-error the method has only one parameter
    @DistributeLock({ key: '#{arg1}' })
    async noSuchArgument(_order: Order): Promise<void> {}

    // @ts-expect-error the headers have many values
    @DistributeLock({ key: '#{headers}' })
    async wholeHeaders(_order: Order): Promise<void> {}

    // @ts-expect-error an address has no properties
    @DistributeLock({ key: '#{ip.v4}' })
    async intoTheAddress(_order: Order): Promise<void> {}

    // @ts-expect-error the options were declared elsewhere, but their type is known
    @DistributeLock(shared)
    async elsewhere(_order: Order): Promise<void> {}

    // @ts-expect-error one of the two keys does not fit
    @DistributeLock({ key: process.pid % 2 === 0 ? 'a:#{arg0.id}' : 'b:#{arg0.idd}' })
    async oneOfBoth(_order: Order): Promise<void> {}

    @DistributeLock({ key: 'outer:#{arg0.id}' })
    // @ts-expect-error the inner lock is checked as well
    @DistributeLock({ key: 'inner:#{arg0.idd}' })
    async stacked(_order: Order): Promise<void> {}

    // @ts-expect-error a lock is asynchronous, so the method must be async
    @DistributeLock({ key: '#{arg0.id}' })
    sync(_order: Order): number {
      return 1;
    }

    // @ts-expect-error the key function needs an order
    @DistributeLock({ key: (order: Order) => order.id })
    async wrongFunction(_id: string): Promise<void> {}

    // @ts-expect-error onContended needs an order
    @DistributeLock({ key: 'a', onContended: (_info, order: Order) => order.id })
    async wrongAnswer(_id: string): Promise<string> {
      return '';
    }
  }
  return Templates;
};
