import { parseInput } from './parseInput';
import { createMockupRequestSchema } from './schemas';

describe('parseInput', () => {
  it('shows of a long text only how it begins and how long it is', () => {
    expect(() =>
      parseInput(createMockupRequestSchema, { name: 'x'.repeat(300) }, 'body'),
    ).toThrow(`got "${'x'.repeat(60)}"… (300 characters)`);
  });

  it('stays short however much is wrong', () => {
    const unknown = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, n) => [`field${n}`, n]),
    );
    const parse = () => parseInput(createMockupRequestSchema, unknown, 'body');
    expect(parse).toThrow('"field4", and 59995 more');
    expect(parse).toThrow(/^.{1,500}$/);
  });
});
