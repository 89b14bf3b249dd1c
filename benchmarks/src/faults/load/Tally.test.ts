import { Tally } from './Tally';

describe('Tally', () => {
  let tally: Tally;
  beforeEach(() => {
    tally = new Tally(2);
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
    const before = tally.longestGap;
    const start = performance.now();
    while (performance.now() - start < before + 5) {
      tally.countRefusal(503);
    }
    expect(tally.longestGap).toBe(before);
    tally.close();
    expect(tally.longestGap).toBeGreaterThanOrEqual(before + 5);
  });

  describe('a recovery', () => {
    it('is complete once each client was answered', async () => {
      tally.countAnswer(1);
      const recovery = tally.watchRecovery();
      expect(recovery.first).toBeUndefined();
      tally.countAnswer(0);
      tally.countAnswer(0);
      expect(recovery.first).toBeGreaterThanOrEqual(0);
      expect(recovery.all).toBeUndefined();
      tally.countAnswer(1);
      await recovery.complete;
      expect(recovery.all).toBeGreaterThanOrEqual(recovery.first!);
    });

    it('takes no refusal and no wrong answer for one', () => {
      const recovery = tally.watchRecovery();
      tally.countRefusal(503);
      tally.countFailure('of another tenant');
      expect(recovery.first).toBeUndefined();
    });
  });
});
