import { outcomeOf } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { startTenantBackend } from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const VARIABLE = 'MULTI_TENANCY_ENABLED';

describe('the flag', () => {
  const before = process.env[VARIABLE];

  afterEach(() => {
    if (before === undefined) {
      delete process.env[VARIABLE];
    } else {
      process.env[VARIABLE] = before;
    }
  });

  async function tenantsOf(enabled: string | boolean | undefined) {
    const directory = new InMemoryTenants();
    const backend = await startTenantBackend({
      directory,
      tenancy: { enabled },
    });
    return { directory, backend };
  }

  const ON = ['true', true];
  const OFF = [
    ...['TRUE', 'True', 'tRUE', ' true', 'true ', '"true"'],
    ...['1', 'yes', 'on', 'enabled', 'false', '', ' '],
    ...[false, undefined],
  ];

  it.each(ON)('is on: tenancy.enabled %j', async enabled => {
    delete process.env[VARIABLE];
    const { backend } = await tenantsOf(enabled);
    expect(outcomeOf(await backend.get({ host: 'acme.portal.example' }))).toBe(
      'acme',
    );
  });

  it('is on: the environment variable has the value true', async () => {
    process.env[VARIABLE] = 'true';
    const { backend } = await tenantsOf(undefined);
    expect(outcomeOf(await backend.get({ host: 'acme.portal.example' }))).toBe(
      'acme',
    );
  });

  it.each(OFF)(
    'is off: tenancy.enabled %j; every request is the default tenant, and nothing is looked up',
    async enabled => {
      delete process.env[VARIABLE];
      const { backend, directory } = await tenantsOf(enabled);
      for (const headers of [
        { host: 'portal.example' },
        { host: 'acme.portal.example' },
        { host: 'unknown.portal.example' },
        { host: 'portal.example', 'x-tenant-slug': 'acme' },
        { host: 'portal.example', 'x-tenant-slug': 'Not A Slug' },
        {
          host: 'portal.example',
          authorization: `Bearer ${sign({ tenantSlug: 'acme' })}`,
        },
      ]) {
        const answer = await backend.get(headers);
        expect(outcomeOf(answer)).toBe('default');
        expect(answer.headers.vary ?? '').not.toMatch(/tenant|authorization/i);
      }
      expect(directory.lookups).toEqual([]);
    },
  );

  it.each(OFF.filter(value => typeof value === 'string'))(
    'is off: the environment variable has the value %j',
    async value => {
      process.env[VARIABLE] = value;
      const { backend, directory } = await tenantsOf(undefined);
      expect(
        outcomeOf(await backend.get({ host: 'acme.portal.example' })),
      ).toBe('default');
      expect(directory.lookups).toEqual([]);
    },
  );
});
