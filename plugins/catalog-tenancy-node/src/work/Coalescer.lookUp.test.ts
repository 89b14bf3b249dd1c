import { Coalescer, type CoalescedOptions } from './Coalescer';

const TENANT = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const FILTER = { type: 'all', conditions: [] };

/** Lookups see what was committed when they were sent, and end when they are let. */
class Database {
  committed = 0;
  readonly underWay: Array<{
    refs: string[];
    answer(): void;
    fail(error: Error): void;
  }> = [];

  readonly send = (refs: string[], { signal }: CoalescedOptions) =>
    new Promise<ReadonlyMap<string, number>>((resolve, reject) => {
      const { committed } = this;
      signal?.addEventListener('abort', () => reject(signal.reason));
      this.underWay.push({
        refs,
        answer: () => resolve(new Map(refs.map(ref => [ref, committed]))),
        fail: reject,
      });
    });
}

describe('What several callers look up by a Coalescer', () => {
  let lookups: Coalescer;
  let database: Database;

  beforeEach(() => {
    lookups = new Coalescer();
    database = new Database();
  });

  const read = (
    refs: string[],
    tenantId = TENANT,
    question: unknown = FILTER,
    options?: CoalescedOptions,
  ) => lookups.lookUp(tenantId, question, refs, database.send, options);

  /** Once what has been asked for is sent. */
  const sent = () => new Promise(resolve => setImmediate(resolve));

  const refsSent = async () => {
    await sent();
    return database.underWay.map(({ refs }) => refs);
  };

  const refsTo = (count: number, prefix = 'component:default/') =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);

  it('sends together what is asked for while another is under way', async () => {
    const first = read(['a']);
    const others = [read(['b']), read(['c', 'b']), read(['d'])];
    expect(await refsSent()).toEqual([['a']]);
    database.underWay[0].answer();
    await first;
    expect(await refsSent()).toEqual([['a'], ['b', 'c', 'd']]);
    database.underWay[1].answer();
    for (const found of await Promise.all(others)) {
      expect([...found.keys()]).toEqual(['b', 'c', 'd']);
    }
    await sent();
    expect(lookups.size).toBe(0);
  });

  it.each([
    ['tenants', TENANT, FILTER, OTHER, FILTER],
    ['callers who may read different entities', TENANT, FILTER, TENANT, 1],
  ])(
    'sends nothing together of different %s',
    async (_, tenant, question, otherTenant, otherQuestion) => {
      const answers = [
        read(['a'], tenant, question),
        read(['a'], otherTenant, otherQuestion),
        read(['b'], tenant, question),
        read(['c'], otherTenant, otherQuestion),
      ];
      expect(await refsSent()).toEqual([['a'], ['a']]);
      database.underWay.forEach(each => each.answer());
      expect(await refsSent()).toEqual([['a'], ['a'], ['b'], ['c']]);
      database.underWay.forEach(each => each.answer());
      const found = await Promise.all(answers);
      expect(found.map(each => [...each.keys()])).toEqual([
        ['a'],
        ['a'],
        ['b'],
        ['c'],
      ]);
    },
  );

  it('sends a large lookup alone, without a wait', async () => {
    const large = refsTo(21);
    const answers = [read(['a']), read(large), read(['b'])];
    expect((await refsSent()).toSorted((a, b) => a.length - b.length)).toEqual([
      ['a'],
      large,
    ]);
    database.underWay.forEach(each => each.answer());
    await sent();
    database.underWay.at(-1)!.answer();
    await Promise.all(answers);
  });

  it('does not wait any longer once there are many refs', async () => {
    const first = read(['a']);
    const many = Array.from({ length: 6 }, (_, index) =>
      read(refsTo(20, `${index}-`)),
    );
    expect((await refsSent()).map(refs => refs.length)).toEqual([1, 100]);
    database.underWay.forEach(each => each.answer());
    expect((await refsSent()).map(refs => refs.length)).toEqual([1, 100, 20]);
    database.underWay.forEach(each => each.answer());
    await Promise.all([first, ...many]);
    await sent();
    expect(lookups.size).toBe(0);
  });
});
