import { MOCKUP_LIMITS } from './limits';
import { parseInput } from './parseInput';
import {
  createMockupRequestSchema,
  listMockupsQuerySchema,
  saveVersionRequestSchema,
} from './schemas';

const item = {
  i: 'buy',
  x: 0,
  y: 0,
  w: 2,
  h: 1,
  component: 'Button',
  props: {},
};

describe('parseInput', () => {
  it('returns what the schema makes of the input', () => {
    expect(parseInput(listMockupsQuerySchema, {}, 'query')).toEqual({
      limit: MOCKUP_LIMITS.defaultPageSize,
      offset: 0,
      orderBy: 'updatedAt,desc',
    });
  });

  it('names every bad value and the form that was expected', () => {
    expect(() =>
      parseInput(
        saveVersionRequestSchema,
        { layoutData: [item, { ...item, i: 'b', x: -1, w: '2' }], extra: 1 },
        'request body',
      ),
    ).toThrow(
      'Invalid request body: layoutData[1].x must be an integer >= 0, got -1; layoutData[1].w must be an integer >= 1, got "2"; unknown field "extra"',
    );
  });

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

  it('survives values nested deeper than the stack', () => {
    let deep: unknown = [];
    for (let depth = 0; depth < 100_000; depth++) {
      deep = [deep];
    }
    for (const input of [
      deep,
      { name: deep },
      { layoutData: deep },
      { layoutData: [{ ...item, props: { deep } }] },
    ]) {
      expect(() => parseInput(saveVersionRequestSchema, input, 'body')).toThrow(
        'Invalid body',
      );
    }
  });
});
