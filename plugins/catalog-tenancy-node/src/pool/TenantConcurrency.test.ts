import { DatabaseUnavailableError, TenantBusyError } from './errors';
import { TenantLimits } from './TenantLimits';
import { NO_TENANT, TenantConcurrency } from './TenantConcurrency';

const [NOISY, QUIET] = ['noisy', 'quiet'];

/** What was taken is there, and what is rejected was seen. */
const settled = () => new Promise(resolve => process.nextTick(resolve));

/** Turns that are given back by tenant: the first that was taken. */
class Turns extends TenantConcurrency {
  readonly #taken = new Map<string, Array<() => void>>();

  override async acquire(...args: Parameters<TenantConcurrency['acquire']>) {
    const end = await super.acquire(...args);
    const [tenantId] = args;
    const taken = this.#taken.get(tenantId) ?? [];
    this.#taken.set(tenantId, [...taken, end]);
    return end;
  }

  give(tenantId: string): void {
    this.#taken.get(tenantId)!.shift()!();
  }
}

describe('TenantConcurrency', () => {
  const limits = {
    concurrency: 2,
    concurrencyBesideOthers: 2,
    queue: 2,
    queueTimeoutMs: 20,
  };
  const onFull = jest.fn();

  beforeEach(() => {
    jest.clearAllMocks();
  });
  afterEach(() => jest.useRealTimers());

  const create = (max: number) =>
    new Turns({ max, waitMs: 30, limits, onFull });

  it('refuses what has waited for too long behind its own tenant', async () => {
    const turns = create(5);
    await Promise.all([turns.acquire(NOISY), turns.acquire(NOISY)]);
    await expect(turns.acquire(NOISY)).rejects.toThrow(TenantBusyError);
    expect(turns.counts).toEqual({ running: 2, waiting: 0, refused: 1 });
    expect(onFull).not.toHaveBeenCalled();
  });

  it('refuses at once what its queue has no place for', async () => {
    const turns = create(5);
    const all = [1, 2, 3, 4].map(() => turns.acquire(NOISY));
    const refused = turns.acquire(NOISY);
    expect(turns.counts).toEqual({ running: 2, waiting: 2, refused: 1 });
    await settled();
    turns.give(NOISY);
    turns.give(NOISY);
    await expect(refused).rejects.toThrow(TenantBusyError);
    await Promise.all(all);
  });

  it('lets what continues an answer wait, whatever that takes', async () => {
    jest.useFakeTimers();
    const turns = create(5);
    await Promise.all([turns.acquire(NOISY), turns.acquire(NOISY)]);
    const further = [1, 2, 3].map(() =>
      turns.acquire(NOISY, { continues: true }),
    );
    jest.advanceTimersByTime(1_000);
    expect(turns.counts).toEqual({ running: 2, waiting: 3, refused: 0 });
    turns.give(NOISY);
    turns.give(NOISY);
    await Promise.race(further);
    turns.give(NOISY);
    await expect(Promise.all(further)).resolves.toHaveLength(3);
  });

  it('is unavailable, and does not refuse, while others have all connections', async () => {
    const turns = create(2);
    await Promise.all([turns.acquire(NOISY), turns.acquire(NOISY)]);
    const quiet = Array.from({ length: 5 }, () => turns.acquire(QUIET));
    for (const each of quiet) {
      await expect(each).rejects.toThrow(DatabaseUnavailableError);
    }
    expect(turns.counts).toEqual({ running: 2, waiting: 0, refused: 0 });
    expect(onFull).toHaveBeenCalledTimes(5);
    turns.give(NOISY);
    await expect(turns.acquire(QUIET)).resolves.toEqual(expect.any(Function));
  });

  it('gives the next turn to the tenant that has the fewest', async () => {
    const turns = create(3);
    const order: string[] = [];
    const take = (tenant: string) =>
      turns.acquire(tenant).then(() => order.push(tenant));
    await Promise.all([take(NOISY), take(NOISY), take(QUIET)]);
    order.length = 0;
    const all = [NOISY, QUIET, 'third', 'third', NO_TENANT].map(take);
    for (const tenant of [QUIET, NOISY, 'third', NO_TENANT, QUIET]) {
      turns.give(tenant);
      await settled();
    }
    await Promise.all(all);
    expect(order).toEqual([QUIET, 'third', NO_TENANT, 'third', NOISY]);
  });

  describe('beside another tenant at work', () => {
    const own = new TenantLimits();
    let turns: Turns;

    beforeEach(() => {
      jest.useFakeTimers();
      own.replace(new Map());
      turns = new Turns({
        max: 10,
        waitMs: 3_600_000,
        limits: {
          concurrency: 3,
          concurrencyBesideOthers: 1,
          queue: 10,
          queueTimeoutMs: 3_600_000,
        },
        own,
        onFull,
      });
    });
    afterEach(() => turns.close(new Error('closed')));

    /** Takes turns that are given back by name only. */
    const take = async (tenant: string, count: number) => {
      Array.from({ length: count }, () =>
        turns.acquire(tenant).catch(() => {}),
      );
      await jest.advanceTimersByTimeAsync(0);
    };
    const give = async (tenant: string) => {
      turns.give(tenant);
      await jest.advanceTimersByTimeAsync(0);
    };
    /** For another tenant, and back at once. */
    const work = async (tenant: string) => {
      await take(tenant, 1);
      await give(tenant);
    };
    const running = () => turns.counts.running;

    it('has a tenant the fewer turns, and as many as before once it is alone', async () => {
      await work(QUIET);
      await take(NOISY, 8);
      expect(running()).toBe(1);
      await give(NOISY);
      expect(running()).toBe(1);
      await jest.advanceTimersByTimeAsync(99);
      await give(NOISY);
      expect(running()).toBe(1);
      await jest.advanceTimersByTimeAsync(1);
      await give(NOISY);
      expect(running()).toBe(3);
      // Nothing is taken back: it gets none until it is below the limit.
      await work(QUIET);
      await give(NOISY);
      await give(NOISY);
      expect(running()).toBe(1);
      expect(turns.counts.waiting).toBe(2);
    });

    it('gives each of two busy tenants the fewer turns', async () => {
      await take(NOISY, 3);
      await take('noisy too', 3);
      expect(running()).toBe(3 + 1);
      for (const _ of [1, 2, 3]) {
        await give(NOISY);
      }
      await take(NOISY, 3);
      expect(running()).toBe(1 + 1);
    });

    it('has a slow operation of a tenant keep no other of it waiting', async () => {
      await work(QUIET);
      await take(NOISY, 5);
      for (const [ms, expected] of [
        [240, 1],
        [20, 2],
        [220, 2],
        [40, 3],
        [500, 3],
      ]) {
        for (let passed = 0; passed < ms; passed += 20) {
          await work(QUIET);
          await jest.advanceTimersByTimeAsync(20);
        }
        expect(running()).toBe(expected);
      }
    });

    it('has a tenant to which the registry gives a limit as many turns as that', async () => {
      own.set(NOISY, { concurrency: 2 });
      await work(QUIET);
      await take(NOISY, 8);
      expect(running()).toBe(2);
    });
  });

  it('ends the waiting when it is closed', async () => {
    const turns = create(1);
    await turns.acquire(NOISY);
    const waiting = turns.acquire(QUIET);
    turns.close(new Error('closed'));
    await expect(waiting).rejects.toThrow('closed');
  });
});
