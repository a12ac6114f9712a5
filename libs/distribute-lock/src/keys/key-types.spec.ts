import { errorsByClass, typeCheck } from '../../../../test/support/type-check.js';

/** Code that does not compile, as text. Tests of accepted and rejected types are in test/types. */
const PRELUDE = `
import { DistributeLock } from './nest/decorators/distribute-lock.decorator.js';
interface Order {
  readonly id: string;
  readonly when: Date;
  readonly customer?: { readonly name: string };
  readonly lines: readonly { readonly sku: string; readonly amount: number }[];
}
`;

const METHODS: readonly (readonly [key: string, parameters: string, words: string])[] = [
  [`'post_test_#{body.idd}'`, 'order: Order', '#{body.idd} is not in the parameters of the method'],
  [`'#{body.id}:#{arg0.customer.nam}'`, 'order: Order', '#{arg0.customer.nam} is not in the parameters of the method'],
  [`'#{arg0.lines.0.skew}'`, 'order: Order', '#{arg0.lines.0.skew} is not in the parameters'],
  [`'#{body.when}'`, 'order: Order', '#{body.when} is not a string, number, bigint or boolean'],
  [`'#{arg0.customer}'`, 'order: Order', '#{arg0.customer} is not a string'],
  [`'#{arg1.id}'`, 'order: Order', '#{arg1.id} does not exist: the method has no arg1'],
  [`'#{order.id}'`, 'order: Order', '#{order.id} begins with \\"order\\", which is unknown'],
  [`'#{order.id}'`, 'order: Order', 'write \\"body.\\" or \\"arg0.\\"'],
  [`'a#{body.id'`, 'order: Order', '#{body.id is not closed'],
  [`'a#{}'`, 'order: Order', '#{} is not a path'],
  [`'#{body.lines[0].sku}'`, 'order: Order', '#{body.lines[0].sku} is not a path'],
  [`'order_{arg0}'`, 'id: string', '\\"{arg0}\\" has no \\"#\\"'],
  [`'#{arg0}:{body.id}'`, 'id: string', '\\"{body.id}\\" has no \\"#\\"'],
  [`'{tag}:#{arg0}'`, 'id: string', '\\"{tag}\\" has no \\"#\\"'],
  [`'a_:channel'`, 'id: string', '\\":channel\\" is not a placeholder'],
  [`':channel'`, 'id: string', '\\":channel\\" is not a placeholder'],
  [`'orders/:id/lines'`, 'id: string', '\\":id\\" is not a placeholder'],
  [`'#{body.customer?.name}'`, 'order: Order', '#{body.customer?.name} has no optional parts'],
  [`'#{headers}'`, 'order: Order', '#{headers} can never be a value'],
  [`'#{arg0}#{arg1}'`, 'a: string, b: string', '#{arg0} needs a character between it and the next placeholder'],
  [`'#{arg0}%#{arg1}'`, 'a: string, b: string', '\\"%\\" is not allowed between #{arg0} and'],
  [`'a:\${body.id}'`, 'order: Order', 'placeholders are written #{path}'],
  [`''`, 'order: Order', 'the key is empty'],
  [`(order: Order) => order.id`, 'id: number', 'the key function takes other arguments than the method'],
  // The compiler truncates long parameters in its message; it must not truncate the placeholder.
  [
    `'#{body.idd}'`,
    `order: Order & { ${'abcdefghij'.replaceAll(/./g, (name) => `${name.repeat(20)}: '${name.repeat(40)}'; `)} }`,
    '#{body.idd} is not in the parameters of the method',
  ],
  // The message names both faults.
  [`'#{body.idd}:#{arg7}'`, 'order: Order', '#{body.idd} is not in'],
  [`'#{body.idd}:#{arg7}'`, 'order: Order', '#{arg7} does not exist'],
];

const SOURCE = METHODS.reduce(
  (source, [key, parameters], index) =>
    `${source}class C${index} {\n@DistributeLock({ key: ${key} })\nasync run(${parameters}): Promise<void> {} }\n`,
  PRELUDE,
);

describe('the compile error', () => {
  const messages = errorsByClass(SOURCE);

  it.each(METHODS.map(([key, parameters, words], index) => ({ key, parameters, words, index })))(
    'of $key contains: $words',
    ({ words, index }) => {
      expect(messages.get(index)).toContain(words);
      // The last line is what editors show first.
      expect(messages.get(index)?.split('\n').at(-1)).toContain(words);
    },
  );

  it('is the same in a project that is not strict', () => {
    expect(errorsByClass(SOURCE, { strict: false })).toEqual(messages);
  });

  it('is reported at the decorator only', () => {
    expect([...messages.keys()]).toEqual(METHODS.map((_, index) => index));
  });
});

describe('the work of the compiler', () => {
  const METHODS_OF_A_LARGE_FILE = 200;
  /** It is the same in each run with one version of TypeScript: 957 with 6.0. The time follows it. */
  const MOST_TYPES = 1_200;

  const controllers = (key: (n: number) => string) =>
    Array.from(
      { length: METHODS_OF_A_LARGE_FILE },
      (_, n) => `
        interface Order${n} {
          readonly id: string;
          readonly part${n}?: { readonly list: readonly { readonly sku${n}: string }[]; readonly when: Date } | null;
          readonly labels: Record<string, string>;
        }
        class C${n} {
          @DistributeLock({ key: ${key(n)}, ttl: '10s' })
          async run(id: string, order: Order${n}, request?: IncomingMessage): Promise<void> {}
        }`,
    ).join('\n');
  const large = (key: (n: number) => string) =>
    `${PRELUDE} import type { IncomingMessage } from 'node:http'; declare const key: string; ${controllers(key)}`;

  it(`is less than ${MOST_TYPES} types for each method with a checked template`, () => {
    const placeholder = (n: number) =>
      `'order${n}:#{body.id}:#{arg1.part${n}.list.0.sku${n}}:#{arg1.labels.x}:#{params.id}'`;
    const checked = typeCheck(large(placeholder));
    const unchecked = typeCheck(large(() => 'key'));
    expect([checked.diagnostics, unchecked.diagnostics]).toEqual([[], []]);
    const types = (checked.instantiations - unchecked.instantiations) / METHODS_OF_A_LARGE_FILE;
    expect(types).toBeLessThan(MOST_TYPES);
  });

  it('includes the check of the last method, which reports its fault', () => {
    const { diagnostics } = typeCheck(large((n) => `'#{body.labels.x}:#{body.part${n === 199 ? 0 : n}.list.length}'`));
    expect(diagnostics).toHaveLength(1);
  });
});
