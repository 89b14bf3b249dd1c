import {
  commonOptions,
  parseBaseUrl,
  parseBatchSize,
  parseDuration,
  parseMilliseconds,
  parsePhase,
  parseSchema,
  parseTenantName,
  settingsOf,
} from './options';

const defaults = Object.fromEntries(
  commonOptions().map(option => [option.attributeName(), option.defaultValue]),
) as { schema: string; batchSize: number };

it('has defaults for everything but the connection', () => {
  expect(settingsOf(defaults, {})).toEqual({
    schema: 'tenancy',
    maxPauseMs: 1000,
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

describe('numbers', () => {
  it.each([
    [parseMilliseconds, '600000', 600_000],
    [parseDuration, '60s', 60_000],
    [parseBatchSize, '1', 1],
    [parsePhase, '5', 5],
  ])('%p takes %s', (parse, value, expected) => {
    expect(parse(value)).toBe(expected);
  });

  it.each([
    [parseMilliseconds, '30ms', 'a whole number of milliseconds'],
    [parseDuration, '601s', 'from 1 to 600000'],
    [parseBatchSize, '1000001', 'from 1 to 1000000'],
    [parseBatchSize, '2.5', 'a whole number of rows'],
    [parsePhase, '6', 'from 0 to 5'],
    [parsePhase, '', 'a whole number of a phase'],
  ])('%p refuses "%s" and says what it expects', (parse, value, expected) => {
    expect(() => parse(value)).toThrow(expected);
  });
});

describe('schemas', () => {
  it.each(['tenancy', 'public', 'Ünder score'])('takes %s', value => {
    expect(parseSchema(value)).toBe(value);
  });

  it.each(['', 'x'.repeat(64), 'ü'.repeat(32), 'a\0b'])(
    'refuses %p, which is no name',
    value => {
      expect(() => parseSchema(value)).toThrow('of 1 to 63 bytes');
    },
  );

  it.each(['pg_catalog', 'pg_temp', 'information_schema'])(
    'refuses %s, which is PostgreSQL its own',
    value => {
      expect(() => parseSchema(value)).toThrow('a schema of yours');
    },
  );
});

it.each(['', '  ', 'x'.repeat(256), 'a\0b'])(
  'the name %p of a tenant is refused',
  value => {
    expect(() => parseTenantName(value)).toThrow('1 to 255 characters');
  },
);

it.each([
  ['https://portal.example.com', 'https://portal.example.com'],
  ['http://localhost:7007/', 'http://localhost:7007'],
  ['https://example.com/portal//', 'https://example.com/portal'],
])('the base URL %s is taken without what trails it', (value, expected) => {
  expect(parseBaseUrl(value)).toBe(expected);
});

it.each([
  'portal',
  'ftp://example.com',
  'https://example.com?a=b',
  'https://user:hush@example.com',
  'https://',
])('the base URL %s is refused', value => {
  expect(() => parseBaseUrl(value)).toThrow('such as https://');
});
