import { CoalescedRefresh } from './CoalescedRefresh';

describe('CoalescedRefresh', () => {
  it.each(Array.from({ length: 12 }, (_, step) => step))(
    'has a change in effect that came %i steps after the start, so just before or after the end',
    async steps => {
      let changes = 0;
      let inEffect = 0;
      const refresh = new CoalescedRefresh(
        async () => {
          inEffect = changes;
        },
        () => true,
      );
      const first = refresh.request();
      for (let step = 0; step < steps; step++) {
        await Promise.resolve();
      }
      changes++;
      await refresh.request();
      expect(inEffect).toBe(1);
      await first;
    },
  );
});
