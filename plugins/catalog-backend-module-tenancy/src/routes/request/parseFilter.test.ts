import { InputError } from '@backstage/errors';
import { parseFilter } from './parseFilter';

describe('parseFilter', () => {
  it.each([
    [undefined, undefined],
    [[], undefined],
    [[' , ,'], undefined],
    [['kind=component'], { kind: 'component' }],
    [[' kind = component '], { kind: 'component' }],
    [['metadata.tags.java'], { 'metadata.tags.java': { $exists: true } }],
    [['spec.a='], { 'spec.a': '' }],
    [['spec.a=b=c'], { 'spec.a': 'b=c' }],
    [['kind=a,kind=b'], { kind: { $in: ['a', 'b'] } }],
    [['kind,kind=b'], { kind: 'b' }],
    [
      ['kind=a,spec.b'],
      { $all: [{ kind: 'a' }, { 'spec.b': { $exists: true } }] },
    ],
    [
      ['kind=a,spec.b=c', '', 'kind=d'],
      { $any: [{ $all: [{ kind: 'a' }, { 'spec.b': 'c' }] }, { kind: 'd' }] },
    ],
  ])('reads %j', (filters, expected) => {
    expect(parseFilter(filters)).toEqual(expected);
  });

  it.each(['=', '=a', ' = b', '$not', '$any=a'])(
    'refuses a condition without a key of entities, %j',
    text => {
      expect(() => parseFilter([`kind=a,${text}`])).toThrow(
        new InputError(
          `Invalid filter, '${text.trim()}' is not a valid statement (expected a string on the form a=b or a= or a)`,
        ),
      );
    },
  );
});
