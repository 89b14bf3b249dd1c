import { toFilterPredicate } from './predicates';

describe('toFilterPredicate', () => {
  it('keeps the meaning of every form of conditions', () => {
    expect(
      toFilterPredicate({
        allOf: [
          { key: 'kind', values: ['component'] },
          {
            anyOf: [
              { key: 'relations.ownedBy', values: ['user:a/b', 'group:a/c'] },
              { not: { key: 'metadata.annotations.secret' } },
            ],
          },
        ],
      }),
    ).toEqual({
      $all: [
        { kind: 'component' },
        {
          $any: [
            { 'relations.ownedBy': { $in: ['user:a/b', 'group:a/c'] } },
            { $not: { 'metadata.annotations.secret': { $exists: true } } },
          ],
        },
      ],
    });
  });

  it('lets a rule without values match nothing', () => {
    expect(toFilterPredicate({ key: 'relations.ownedBy', values: [] })).toEqual(
      { 'relations.ownedBy': { $in: [] } },
    );
  });
});
