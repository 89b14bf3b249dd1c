import { copyRows, firstCatchUp, indexes } from './engine';
import { StepClock, Stopped } from './migrations';

function createClock(options: { stopBefore?: typeof copyRows } = {}) {
  let time = 0;
  const clock = new StepClock({ ...options, now: () => time });
  return {
    clock,
    at(ms: number, message: string) {
      time = ms;
      clock.reporter.info(message);
    },
  };
}

it('measures each step until the next one begins', () => {
  const { clock, at } = createClock();
  at(1000, copyRows.title);
  at(1500, 'Something within the step');
  at(3000, firstCatchUp.title);
  at(3500, indexes.title);
  expect(clock.times()).toEqual([
    { name: copyRows.name, seconds: 2 },
    { name: firstCatchUp.name, seconds: 0.5 },
    { name: indexes.name, seconds: 0 },
  ]);
  expect(clock.secondsOf([copyRows, firstCatchUp])).toBe(2.5);
});

it('measures steps that are undone', () => {
  const { clock, at } = createClock();
  at(0, `Undo: ${firstCatchUp.title}`);
  at(250, `Undo: ${copyRows.title}`);
  expect(clock.secondsOf([firstCatchUp])).toBe(0.25);
});

it('ends a command before a step, and counts the one before it', () => {
  const { clock, at } = createClock({ stopBefore: firstCatchUp });
  at(0, copyRows.title);
  expect(() => at(400, firstCatchUp.title)).toThrow(Stopped);
  expect(clock.times()).toEqual([{ name: copyRows.name, seconds: 0.4 }]);
});
