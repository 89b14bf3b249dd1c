import { commonOptions, settingsOf } from './common';

const defaults = Object.fromEntries(
  commonOptions().map(option => [option.attributeName(), option.defaultValue]),
) as { schema: string; lockTimeout: number; batchSize: number };

it('has defaults for everything but the connection', () => {
  expect(settingsOf(defaults, {})).toEqual({
    schema: 'tenancy',
    lockTimeoutMs: 30,
    batchSize: 2000,
    defaultTenantName: 'Default tenant',
    adminGrant: true,
    force: false,
    cutover: undefined,
  });
});

it('takes over what the operator chose, and the token from the environment', () => {
  expect(
    settingsOf(
      {
        ...defaults,
        tenantName: 'Our company',
        adminGrant: false,
        force: true,
        baseUrl: 'https://portal.example.com',
      },
      { MIGRATION_TOKEN: 'from-the-environment' },
    ),
  ).toMatchObject({
    defaultTenantName: 'Our company',
    adminGrant: false,
    force: true,
    cutover: {
      baseUrl: 'https://portal.example.com',
      token: 'from-the-environment',
    },
  });
});

it('refuses a --max-pause that is shorter than --lock-timeout', () => {
  const settings = (maxPause: number) =>
    settingsOf({ ...defaults, maxPause }, {});
  expect(() => settings(29)).toThrow(
    '--max-pause 29 is shorter than --lock-timeout 30, for which the application is ' +
      'held up in any case. Expected 30 or more.',
  );
  expect(settings(30)).toMatchObject({ maxPauseMs: 30 });
});
