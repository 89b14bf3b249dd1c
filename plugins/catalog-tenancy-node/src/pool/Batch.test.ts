import { dependencies } from '../../package.json';
import { describeUntestedPg, TESTED_PG } from './Batch';

describe('the version of pg', () => {
  it('is pinned to the minor whose internals are tested, which is installed here', () => {
    expect(dependencies.pg).toBe(`~${TESTED_PG}.0`);
    expect(describeUntestedPg()).toBeUndefined();
  });

  it.each([`${TESTED_PG}0.1`, '8.24.0', '9.0.0'])(
    'is named, with the tested one, where it is %s',
    version => {
      expect(describeUntestedPg(version)).toMatch(
        `version ${version}. Multi-tenancy builds on internals of it, and is tested with ${TESTED_PG} only`,
      );
    },
  );
});
