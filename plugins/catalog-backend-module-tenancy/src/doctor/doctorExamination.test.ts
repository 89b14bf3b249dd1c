import { ConfigReader } from '@backstage/config';
import type { JsonObject } from '@backstage/types';
import { doctorExamination } from './doctorExamination';

const WELL: JsonObject = {
  app: { baseUrl: 'https://portal.example.com' },
  backend: { baseUrl: 'https://portal.example.com', trustProxy: 1 },
  tenancy: {
    baseDomains: ['portal.example.com'],
    jwtSecret: 'x'.repeat(32),
    admins: ['user:default/jane'],
  },
};

async function wrong(config: JsonObject) {
  const findings = await doctorExamination(new ConfigReader(config));
  return findings
    .filter(({ level }) => level !== 'ok')
    .map(({ subject, level, message }) => `${level} ${subject}: ${message}`);
}

const withTenancy = (tenancy: JsonObject): JsonObject => ({
  ...WELL,
  tenancy: { ...(WELL.tenancy as JsonObject), ...tenancy },
});

describe('the doctor of requests', () => {
  it('finds nothing where all is well', async () => {
    expect(await wrong(WELL)).toEqual([]);
  });

  it.each<[string, JsonObject, string]>([
    [
      'no base domains',
      withTenancy({ baseDomains: [] }),
      'warning hostnames: Without tenancy.baseDomains',
    ],
    [
      'a proxy that is not trusted',
      { ...WELL, backend: { baseUrl: 'https://portal.example.com' } },
      'warning proxies: backend.baseUrl is https',
    ],
    [
      'a secret that can be guessed',
      withTenancy({ jwtSecret: 'short' }),
      "warning tokens: The secret at 'tenancy.jwtSecret' has 5 bytes",
    ],
    [
      'tokens that open every plugin',
      {
        ...WELL,
        backend: {
          ...(WELL.backend as JsonObject),
          auth: { externalAccess: [{ type: 'tenant', options: {} }] },
        },
      },
      'failure tokens: The entry backend.auth.externalAccess[0]',
    ],
    [
      'nobody who administers',
      withTenancy({ admins: [] }),
      'warning administrators: Nobody may administer tenants',
    ],
    [
      'a base URL that is none',
      { ...WELL, app: { baseUrl: 'portal' } },
      'failure hostnames: Invalid configuration value',
    ],
  ])('finds %s', async (_, config, expected) => {
    expect(await wrong(config)).toEqual([expect.stringContaining(expected)]);
  });
});
