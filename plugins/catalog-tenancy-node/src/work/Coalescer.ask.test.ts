import { Coalescer } from './Coalescer';

const TENANT = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const QUESTION = ['page', { limit: 20 }];

interface Row {
  committed: number;
}

/** Reads see what was committed when they were sent, and end when they are let. */
class Database {
  committed = 0;
  readonly underWay: Array<{ answer(): void; fail(error: Error): void }> = [];

  readonly send = () =>
    new Promise<Row[]>((resolve, reject) => {
      const { committed } = this;
      this.underWay.push({
        answer: () => resolve([{ committed }]),
        fail: reject,
      });
    });
}

describe('What several callers ask a Coalescer', () => {
  let reads: Coalescer;
  let database: Database;

  beforeEach(() => {
    reads = new Coalescer();
    database = new Database();
  });

  const read = (tenantId = TENANT, question: unknown[] = QUESTION) =>
    reads.ask(tenantId, question, database.send);

  it('sends one read for all who come while another is under way', async () => {
    const first = read();
    const others = [read(), read(), read()];
    expect(database.underWay).toHaveLength(1);
    database.underWay[0].answer();
    await first;
    expect(database.underWay).toHaveLength(2);
    database.underWay[1].answer();
    const [one, two, three] = await Promise.all(others);
    expect(one).toEqual([{ committed: 0 }]);
    expect(two).toBe(one);
    expect(three).toBe(one);
    expect(database.underWay).toHaveLength(2);
  });

  it('shows a write to whoever asks after it was committed', async () => {
    const first = read();
    database.committed = 1;
    const second = read();
    database.committed = 2;
    const third = read();
    database.underWay[0].answer();
    await expect(first).resolves.toEqual([{ committed: 0 }]);
    // The second was sent now, for both.
    database.committed = 3;
    const fourth = read();
    database.underWay[1].answer();
    await expect(second).resolves.toEqual([{ committed: 2 }]);
    await expect(third).resolves.toEqual([{ committed: 2 }]);
    database.underWay[2].answer();
    await expect(fourth).resolves.toEqual([{ committed: 3 }]);
  });

  it('gives an error to all who share the read, and to nobody after them', async () => {
    const first = read();
    const sharing = [read(), read()];
    database.underWay[0].fail(new Error('the first'));
    await expect(first).rejects.toThrow('the first');
    const after = read();
    database.underWay[1].fail(new Error('the second'));
    for (const each of sharing) {
      await expect(each).rejects.toThrow('the second');
    }
    database.underWay[2].answer();
    await expect(after).resolves.toEqual([{ committed: 0 }]);
    expect(reads.size).toBe(0);
  });

  it('waits no longer than 5 seconds for a read that may never be answered', async () => {
    jest.useFakeTimers();
    try {
      const never = read();
      const second = read();
      await jest.advanceTimersByTimeAsync(4_999);
      expect(database.underWay).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(1);
      expect(database.underWay).toHaveLength(2);
      const third = read();
      database.underWay[1].answer();
      await second;
      database.underWay[2].answer();
      await third;
      expect(reads.size).toBe(0);
      database.underWay[0].fail(new Error('TCP has given up'));
      await expect(never).rejects.toThrow('TCP has given up');
      void read();
      expect(reads.size).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });

  it('shares nothing between tenants', async () => {
    const tenants = [TENANT, OTHER, TENANT, OTHER];
    const answers = tenants.map(tenant =>
      reads.ask(tenant, QUESTION, async () => [{ tenant }]),
    );
    await expect(Promise.all(answers)).resolves.toEqual(
      tenants.map(tenant => [{ tenant }]),
    );
  });

  it('shares nothing between questions', async () => {
    const questions = [
      ['page', { limit: 20 }],
      ['page', { limit: 21 }],
      ['list', { limit: 20 }],
      ['page', { limit: 20, filter: 'what the caller may read' }],
    ];
    const answers = [...questions, ...questions].map(question =>
      reads.ask(TENANT, question, async () => [{ question }]),
    );
    await expect(Promise.all(answers)).resolves.toEqual(
      [...questions, ...questions].map(question => [{ question }]),
    );
  });

  it('sends look-ups that come meanwhile together, in batches, and large ones alone', async () => {
    const sent: string[][] = [];
    const lookUp = (name: string, count: number) => {
      const refs = Array.from({ length: count }, (_, i) => `${name}${i}`);
      return reads.lookUp(TENANT, QUESTION, refs, async asked => {
        sent.push(asked);
        return new Map(asked.map(ref => [ref, `the text of ${ref}`]));
      });
    };
    const found = await Promise.all([
      ...['a', 'b', 'c', 'd'].map(name => lookUp(name, 50)),
      ...['e', 'f', 'g'].map(name => lookUp(name, 50)),
      lookUp('h', 101),
    ]);
    // The first one alone, the next four as a full batch, and what is left.
    expect(sent.map(refs => refs.length).sort()).toEqual([100, 101, 200, 50]);
    expect(found[6].get('g49')).toBe('the text of g49');
  });

  describe('with callers that go', () => {
    const gone = new Error('gone');
    let sent: Array<{ signal?: AbortSignal; continues?: boolean }>;

    beforeEach(() => {
      sent = [];
    });

    const readAs = (caller: AbortController, continues?: boolean) => {
      const answer = reads.ask(
        TENANT,
        QUESTION,
        options => {
          sent.push(options);
          return database.send();
        },
        { signal: caller.signal, continues },
      );
      answer.catch(() => undefined);
      return answer;
    };
    const callers = (count: number) =>
      Array.from({ length: count }, () => new AbortController());

    it('gives up a read when the last has gone, and not before', async () => {
      const [first, second, third] = callers(3);
      const answer = readAs(first);
      const shared = [readAs(second), readAs(third)];
      database.underWay[0].answer();
      await answer;
      first.abort(gone);
      second.abort(gone);
      await expect(shared[0]).rejects.toBe(gone);
      expect(sent[1].signal!.aborted).toBe(false);
      third.abort(gone);
      await expect(shared[1]).rejects.toBe(gone);
      expect(sent[1].signal!.aborted).toBe(true);
      expect(sent[0].signal!.aborted).toBe(false);
    });

    it('sends nothing for those who have gone before their turn', async () => {
      const [first, second] = callers(2);
      const answer = readAs(first);
      readAs(second);
      second.abort(gone);
      database.underWay[0].answer();
      await answer;
      expect(sent).toHaveLength(1);
      expect(reads.size).toBe(0);
    });

    it('does not give what was given up to who comes later', async () => {
      const [first, second, third] = callers(3);
      const answer = readAs(first);
      readAs(second);
      second.abort(gone);
      const later = readAs(third);
      database.underWay[0].answer();
      await answer;
      database.underWay[1].answer();
      await expect(later).resolves.toEqual([{ committed: 0 }]);
      expect(reads.size).toBe(0);
    });

    it('continues an answer if one of the callers does', async () => {
      const [first, second, third] = callers(3);
      const answer = readAs(first);
      readAs(second);
      readAs(third, true);
      database.underWay[0].answer();
      await answer;
      expect(sent.map(({ continues }) => continues)).toEqual([false, true]);
    });
  });
});
