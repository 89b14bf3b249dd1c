import { toFilterPredicate } from './predicates';

describe('toFilterPredicate', () => {
  it('lets a rule without values match nothing', () => {
    expect(toFilterPredicate({ key: 'relations.ownedBy', values: [] })).toEqual(
      { 'relations.ownedBy': { $in: [] } },
    );
  });
});
