import { DatabaseUnavailableError, TenantBusyError } from './errors';
import { TenantLimits } from './TenantLimits';
import { NO_TENANT, TenantTurns } from './TenantTurns';

const [NOISY, QUIET] = ['noisy', 'quiet'];

describe('TenantTurns', () => {
  const limits = { concurrency: 2, queue: 2, queueTimeoutMs: 20 };
  const onFull = jest.fn();

  beforeEach(() => {
    jest.clearAllMocks();
  });
  afterEach(() => jest.useRealTimers());

  const create = (max: number) =>
    new TenantTurns({ max, waitMs: 30, limits, onFull });

  it('refuses what has waited for too long behind its own tenant', async () => {
    const turns = create(5);
    await Promise.all([turns.take(NOISY), turns.take(NOISY)]);
    await expect(turns.take(NOISY)).rejects.toThrow(TenantBusyError);
    expect(turns.counts).toEqual({ running: 2, waiting: 0, refused: 1 });
    expect(onFull).not.toHaveBeenCalled();
  });

  it('refuses at once what its queue has no place for', async () => {
    const turns = create(5);
    const all = [1, 2, 3, 4].map(() => turns.take(NOISY));
    const refused = turns.take(NOISY);
    expect(turns.counts).toEqual({ running: 2, waiting: 2, refused: 1 });
    turns.give(NOISY);
    turns.give(NOISY);
    await expect(refused).rejects.toThrow(TenantBusyError);
    await Promise.all(all);
  });

  it('lets what continues an answer wait, whatever that takes', async () => {
    jest.useFakeTimers();
    const turns = create(5);
    await Promise.all([turns.take(NOISY), turns.take(NOISY)]);
    const further = [1, 2, 3].map(() => turns.take(NOISY, { continues: true }));
    jest.advanceTimersByTime(1_000);
    expect(turns.counts).toEqual({ running: 2, waiting: 3, refused: 0 });
    turns.give(NOISY);
    turns.give(NOISY);
    turns.give(NOISY);
    await expect(Promise.all(further)).resolves.toHaveLength(3);
  });

  it('is unavailable, and does not refuse, while others have all connections', async () => {
    const turns = create(2);
    await Promise.all([turns.take(NOISY), turns.take(NOISY)]);
    const quiet = Array.from({ length: 5 }, () => turns.take(QUIET));
    for (const each of quiet) {
      await expect(each).rejects.toThrow(DatabaseUnavailableError);
    }
    expect(turns.counts).toEqual({ running: 2, waiting: 0, refused: 0 });
    expect(onFull).toHaveBeenCalledTimes(5);
    turns.give(NOISY);
    await expect(turns.take(QUIET)).resolves.toBeUndefined();
  });

  it('gives the next turn to the tenant that has the fewest', async () => {
    const turns = create(3);
    const order: string[] = [];
    const take = (tenant: string) =>
      turns.take(tenant).then(() => order.push(tenant));
    await Promise.all([take(NOISY), take(NOISY), take(QUIET)]);
    order.length = 0;
    const all = [NOISY, QUIET, 'third', 'third', NO_TENANT].map(take);
    [QUIET, NOISY, 'third', NO_TENANT, QUIET].forEach(tenant =>
      turns.give(tenant),
    );
    await Promise.all(all);
    expect(order).toEqual([QUIET, 'third', NO_TENANT, 'third', NOISY]);
  });

  it('has no limit for what is of no tenant', async () => {
    const turns = create(3);
    const all = [1, 2, 3].map(() => turns.take(NO_TENANT));
    await expect(Promise.all(all)).resolves.toHaveLength(3);
  });

  describe('with a tenant that has a limit of its own', () => {
    const own = new TenantLimits();
    const createWithOwn = () =>
      new TenantTurns({
        max: 10,
        waitMs: 30,
        limits: { ...limits, queue: 10, queueTimeoutMs: 3_600_000 },
        own,
        onFull,
      });

    beforeEach(() => own.replace(new Map([[NOISY, { concurrency: 1 }]])));

    it('gives it that many turns, and others as many as are configured', () => {
      const turns = createWithOwn();
      const all = [NOISY, NOISY, QUIET, QUIET, QUIET].map(tenant =>
        turns.take(tenant).catch(() => {}),
      );
      expect(turns.counts).toMatchObject({ running: 3, waiting: 2 });
      turns.close(new Error('closed'));
      return Promise.all(all);
    });

    it('lets more in as soon as it is raised or taken away, of that tenant', () => {
      const turns = createWithOwn();
      const all = Array.from({ length: 8 }, (_, index) =>
        turns.take(index < 5 ? NOISY : QUIET).catch(() => {}),
      );
      const running = () => turns.counts.running;
      expect(running()).toBe(1 + 2);
      own.set(NOISY, { concurrency: 4 });
      expect(running()).toBe(4 + 2);
      own.set(NOISY, undefined);
      expect(running()).toBe(4 + 2);
      // No turn is taken back: the tenant gets none until it is below its limit.
      turns.give(NOISY);
      turns.give(NOISY);
      expect(running()).toBe(2 + 2);
      turns.give(NOISY);
      expect(running()).toBe(2 + 2);
      turns.close(new Error('closed'));
      return Promise.all(all);
    });

    it('hears no more of changes once it is closed', async () => {
      const turns = createWithOwn();
      const unsubscribed = jest.fn();
      jest.spyOn(own, 'onChange').mockReturnValueOnce(unsubscribed);
      const another = createWithOwn();
      turns.close(new Error('closed'));
      expect(unsubscribed).not.toHaveBeenCalled();
      another.close(new Error('closed'));
      expect(unsubscribed).toHaveBeenCalledTimes(1);
    });
  });

  it('ends the waiting when it is closed', async () => {
    const turns = create(1);
    await turns.take(NOISY);
    const waiting = turns.take(QUIET);
    turns.close(new Error('closed'));
    await expect(waiting).rejects.toThrow('closed');
  });
});
