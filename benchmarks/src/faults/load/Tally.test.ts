import { Tally } from './Tally';

describe('Tally', () => {
  let tally: Tally;
  beforeEach(() => {
    jest.useFakeTimers();
    tally = new Tally(2);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('counts answers, refusals by status, and what is wrong', () => {
    tally.countAnswer(0);
    tally.countRefusal(503);
    tally.countRefusal(503);
    tally.countFailure('500');
    expect(tally).toMatchObject({ answered: 1, refusals: 2, requests: 4 });
    expect(tally.refused).toEqual(new Map([[503, 2]]));
    expect(tally.failures).toEqual(['500']);
  });

  it('takes the time without an answer for a gap, up to its end', () => {
    tally.countAnswer(0);
    jest.advanceTimersByTime(500);
    tally.countRefusal(503);
    jest.advanceTimersByTime(500);
    expect(tally.longestGap).toBe(0);
    tally.close();
    expect(tally.longestGap).toBe(1_000);
    jest.advanceTimersByTime(100);
    tally.countAnswer(1);
    expect(tally.longestGap).toBe(1_000);
  });

  describe('a recovery', () => {
    it('is complete once each client was answered', async () => {
      tally.countAnswer(1);
      const recovery = tally.watchRecovery();
      expect(recovery.first).toBeUndefined();
      jest.advanceTimersByTime(10);
      tally.countAnswer(0);
      tally.countAnswer(0);
      expect(recovery.first).toBe(10);
      expect(recovery.all).toBeUndefined();
      jest.advanceTimersByTime(10);
      tally.countAnswer(1);
      await recovery.complete;
      expect(recovery).toMatchObject({ first: 10, all: 20 });
    });

    it('takes no refusal and no wrong answer for one', () => {
      const recovery = tally.watchRecovery();
      tally.countRefusal(503);
      tally.countFailure('of another tenant');
      expect(recovery.first).toBeUndefined();
    });
  });
});
