import { InputError } from '@backstage/errors';
import type { Request } from 'express';
import { parseEntityRefs } from './parseEntityRefs';

const parse = (body: unknown) => parseEntityRefs({ body } as Request);

/** As JSON has it, without a limit of its own. */
function nested(levels: number): unknown {
  return JSON.parse(
    `{"entityRefs":[],"query":${'{"$not":'.repeat(
      levels,
    )}{"kind":"a"}${'}'.repeat(levels)}}`,
  );
}

describe('parseEntityRefs', () => {
  it('reads refs, fields and a predicate', () => {
    const body = {
      entityRefs: ['component:default/a', ''],
      fields: ['kind'],
      query: { $any: [{ kind: 'component' }, { 'spec.type': { $in: ['a'] } }] },
    };
    expect(parse(body)).toEqual(body);
  });

  it.each([
    [undefined],
    [null],
    [[]],
    [{}],
    [{ entityRefs: 'component:default/a' }],
    [{ entityRefs: [1] }],
    [{ entityRefs: [], fields: 'kind' }],
    [{ entityRefs: [], query: 'text' }],
  ])('refuses %j', body => {
    expect(() => parse(body)).toThrow(InputError);
  });

  it('refuses what is nested so deep that it would fill the stack', () => {
    expect(parse(nested(100)).query).toBeDefined();
    for (const body of [
      nested(1_000),
      nested(10_000),
      { entityRefs: nested(10_000) },
    ]) {
      expect(() => parse(body)).toThrow(
        new InputError(
          'Malformed request body, it is nested deeper than 250 levels',
        ),
      );
    }
  });
});
