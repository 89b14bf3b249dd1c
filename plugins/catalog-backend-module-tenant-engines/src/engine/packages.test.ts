import { mockServices } from '@backstage/backend-test-utils';
import { logPackages, NEWEST_TESTED, readEnginePackages } from './packages';

const CATALOG = '@backstage/plugin-catalog-backend';

describe('the packages that engines run with', () => {
  const warningsAbout = (version: string) => {
    const logger = mockServices.logger.mock();
    logPackages([{ name: CATALOG, version }], logger);
    expect(logger.info).toHaveBeenCalledWith(
      `The engines of tenants run with ${CATALOG} ${version}`,
    );
    return logger.warn.mock.calls.map(([message]) => message);
  };

  it('are no newer than those that are said to be tested', () => {
    const logger = mockServices.logger.mock();
    const packages = readEnginePackages();
    expect(packages.map(({ name }) => name)).toEqual(
      expect.arrayContaining(Object.keys(NEWEST_TESTED)),
    );
    logPackages(packages, logger);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('of a release newer than the tested ones are warned of in one line', () => {
    expect(warningsAbout('4.0.5')).toEqual([]);
    expect(warningsAbout('4.0.10')).toEqual([
      `The engines of tenants are not tested with ${CATALOG} 4.0.10 (tested up to 4.0.5)`,
    ]);
  });
});
