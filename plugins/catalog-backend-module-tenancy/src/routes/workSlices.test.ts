import { WorkSlices } from './workSlices';

describe('WorkSlices', () => {
  let slices: WorkSlices;
  let now: number;

  beforeEach(() => {
    slices = new WorkSlices();
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Takes an eighth of a millisecond of the clock of this test. */
  const work = (item: number) => {
    now += 1 / 8;
    return item * 2;
  };
  const numbers = (length: number) => Array.from({ length }, (_, at) => at);

  it('lets others in after each slice', async () => {
    let longest = 0;
    let last = 0;
    let isOver = false;
    const look = () => {
      longest = Math.max(longest, now - last);
      last = now;
      if (!isOver) {
        setImmediate(look);
      }
    };
    look();
    await Promise.all([
      slices.map('a', numbers(1_000), work),
      slices.map('a', numbers(1_000), work),
      slices.map('b', numbers(1_000), work),
    ]);
    isOver = true;
    expect(now).toBe(3_000 / 8);
    // Two slices, where this look comes before one and after the next.
    expect(longest).toBeLessThanOrEqual(2 * (2 / 8));
  });

  it('takes tenants in turn, whatever the number of their lists', async () => {
    const order: string[] = [];
    const run = (tenant: string, name: string, length: number) =>
      slices.map(tenant, numbers(length), work).then(() => order.push(name));
    await Promise.all([
      ...numbers(20).map(() => run('noisy', 'noisy', 100)),
      run('quiet', 'quiet', 100),
    ]);
    expect(order[0]).toBe('quiet');
    expect(order).toHaveLength(21);
  });

  describe('beside requests of a tenant without a long list', () => {
    /** How often the loop goes round until a list is made. */
    const turnsFor = async (tenant: string, length: number) => {
      const immediates = jest.spyOn(global, 'setImmediate');
      const timeouts = jest.spyOn(global, 'setTimeout');
      await slices.map(tenant, numbers(length), work);
      const counts = {
        atOnce: immediates.mock.calls.length,
        paused: timeouts.mock.calls.length,
      };
      immediates.mockRestore();
      timeouts.mockRestore();
      return counts;
    };
    const LENGTH = 40;
    const SLICES = LENGTH / 2;

    it('pauses after each slice, until these have ended', async () => {
      const leave = [1, 2].map(() => slices.enter('quiet'));
      expect(await turnsFor('noisy', LENGTH)).toEqual({
        atOnce: 1,
        paused: SLICES - 1,
      });
      leave[0]();
      expect(await turnsFor('noisy', LENGTH)).toEqual({
        atOnce: 0,
        paused: SLICES,
      });
      leave[1]();
      expect(await turnsFor('noisy', LENGTH)).toEqual({
        atOnce: SLICES,
        paused: 0,
      });
    });
  });

  it('fails as a change does, and goes on with others', async () => {
    const failing = slices.map('a', numbers(100), item => {
      if (item === 50) {
        throw new Error('not this one');
      }
      return work(item);
    });
    const other = slices.map('a', numbers(100), work);
    await expect(failing).rejects.toThrow('not this one');
    await expect(other).resolves.toHaveLength(100);
  });
});
