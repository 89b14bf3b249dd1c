import { Possibilities } from './Possibilities';

describe('Possibilities', () => {
  let possibilities: Possibilities;
  beforeEach(() => {
    possibilities = new Possibilities(0);
  });

  it('are one where it is known what became of each change', () => {
    possibilities.changed('made');
    possibilities.changed('not made');
    expect(possibilities.next).toBe(3);
    expect(possibilities.seen(1)).toBe(true);
    expect(possibilities.seen(2)).toBe(false);
  });

  it('are two after a change of which nobody knows, until it is seen', () => {
    possibilities.changed('unknown');
    expect(String(possibilities)).toBe('0 or 1');
    expect(possibilities.seen(0)).toBe(true);
    expect(possibilities.seen(1)).toBe(true);
    expect(possibilities.seen(0)).toBe(false);
  });

  it('are one again after the next change that is known', () => {
    possibilities.changed('unknown');
    possibilities.changed('made');
    expect(String(possibilities)).toBe('2');
  });
});
