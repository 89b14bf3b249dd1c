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

  const readFor = (caller: AbortController, ref: string) =>
    read([ref], TENANT, FILTER, { signal: caller.signal });

  /** Once what has been asked for is sent. */
  const sent = () => new Promise(resolve => setImmediate(resolve));

  const refsSent = async () => {
    await sent();
    return database.underWay.map(({ refs }) => refs);
  };

  const refsTo = (count: number, prefix = 'component:default/') =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);

  it('sends a lookup at once where none is under way', async () => {
    const only = read(['a', 'b']);
    expect(await refsSent()).toEqual([['a', 'b']]);
    database.underWay[0].answer();
    await expect(only).resolves.toEqual(
      new Map([
        ['a', 0],
        ['b', 0],
      ]),
    );
  });

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

  it('shows a write to whoever asks after it was committed', async () => {
    const first = read(['a']);
    await sent();
    database.committed = 1;
    const second = read(['a']);
    database.committed = 2;
    const third = read(['a']);
    database.underWay[0].answer();
    await expect(first).resolves.toEqual(new Map([['a', 0]]));
    await sent();
    database.committed = 3;
    const fourth = read(['a']);
    database.underWay[1].answer();
    await expect(second).resolves.toEqual(new Map([['a', 2]]));
    await expect(third).resolves.toEqual(new Map([['a', 2]]));
    await sent();
    database.underWay[2].answer();
    await expect(fourth).resolves.toEqual(new Map([['a', 3]]));
  });

  it('gives an error to all whose refs were sent together, and to nobody after them', async () => {
    const first = read(['a']);
    const together = [read(['b']), read(['c'])];
    await sent();
    database.underWay[0].fail(new Error('the first'));
    await expect(first).rejects.toThrow('the first');
    await sent();
    const after = read(['d']);
    database.underWay[1].fail(new Error('the second'));
    for (const each of together) {
      await expect(each).rejects.toThrow('the second');
    }
    await sent();
    database.underWay[2].answer();
    await expect(after).resolves.toEqual(new Map([['d', 0]]));
    await sent();
    expect(lookups.size).toBe(0);
  });

  it('goes on where a lookup cannot be sent', async () => {
    const refused = () => {
      throw new Error('not sent');
    };
    for (const each of [1, 2].map(() =>
      lookups.lookUp(TENANT, FILTER, ['a'], refused),
    )) {
      await expect(each).rejects.toThrow('not sent');
    }
    await sent();
    expect(lookups.size).toBe(0);
  });

  describe('for a caller that has gone', () => {
    const GONE = new Error('gone');
    const callersOf = (count: number) =>
      Array.from({ length: count }, () => new AbortController());

    it('goes on while one of the callers remains, and no longer', async () => {
      const callers = callersOf(3);
      const first = read(['a']);
      const together = callers.map((caller, index) =>
        readFor(caller, `${index}`),
      );
      database.underWay[0].answer();
      await first;
      expect(await refsSent()).toEqual([['a'], ['0', '1', '2']]);
      for (const index of [0, 1]) {
        callers[index].abort(GONE);
        await expect(together[index]).rejects.toBe(GONE);
      }
      const after = read(['b']);
      // What is under way still has a caller: the next one waits for it.
      expect(await refsSent()).toHaveLength(2);
      callers[2].abort(GONE);
      await expect(together[2]).rejects.toBe(GONE);
      expect(await refsSent()).toEqual([['a'], ['0', '1', '2'], ['b']]);
      database.underWay[2].answer();
      await after;
    });

    it('is never sent where all have gone before, and is for those who come then', async () => {
      const [one, other] = callersOf(2);
      const first = read(['a']);
      const left = readFor(one, 'b');
      one.abort(GONE);
      await expect(left).rejects.toBe(GONE);
      const second = readFor(other, 'c');
      database.underWay[0].answer();
      await first;
      expect(await refsSent()).toEqual([['a'], ['c']]);
      database.underWay[1].answer();
      await expect(second).resolves.toEqual(new Map([['c', 0]]));

      const alone = read(['d']);
      const [last] = callersOf(1);
      const unsent = readFor(last, 'e');
      last.abort(GONE);
      await expect(unsent).rejects.toBe(GONE);
      database.underWay[2].answer();
      await alone;
      expect(await refsSent()).toEqual([['a'], ['c'], ['d']]);
      expect(lookups.size).toBe(0);
    });

    it('does not end for one who never goes', async () => {
      const [caller] = callersOf(1);
      const first = read(['a']);
      const together = [readFor(caller, 'b'), read(['c'])];
      database.underWay[0].answer();
      await first;
      await sent();
      caller.abort(GONE);
      await expect(together[0]).rejects.toBe(GONE);
      database.underWay[1].answer();
      await expect(together[1]).resolves.toEqual(
        new Map([
          ['b', 0],
          ['c', 0],
        ]),
      );
    });
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
