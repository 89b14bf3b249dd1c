import { InputError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  createMockupRequestSchema,
  saveVersionRequestSchema,
  shareMockupRequestSchema,
} from './schemas';

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

  const item = { i: 'a', x: 0, y: 0, w: 1, h: 1, component: 'container-a' };
  const holding = (items: unknown) => ({ ...item, props: { items } });
  it.each([
    [
      saveVersionRequestSchema,
      { layoutData: Array(1001).fill({}) },
      'layoutData must be a list of at most 1000 layout items, got a list',
    ],
    [
      saveVersionRequestSchema,
      { layoutData: [holding(Array(1000).fill({}))] },
      'layoutData must be a list of at most 1000 layout items, those within containers included, got a list',
    ],
    [
      saveVersionRequestSchema,
      {
        layoutData: [
          { ...item, props: {}, resizeHandles: Array(500_000).fill('x') },
        ],
      },
      'layoutData[0].resizeHandles must be at most 8 handles, got a list',
    ],
    [
      shareMockupRequestSchema,
      { shares: Array(51).fill(1) },
      'shares must be a list of at most 50 groups, each once, got a list',
    ],
  ])(
    'says of too long a list nothing but that, and looks at none of its entries: %#',
    (schema, input, message) => {
      expect(() => parseInput<unknown>(schema, input, 'body')).toThrow(
        new InputError(`Invalid body: ${message}`),
      );
    },
  );
});
