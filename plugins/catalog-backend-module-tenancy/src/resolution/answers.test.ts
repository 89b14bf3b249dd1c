import { createServiceFactory } from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { mockServices } from '@backstage/backend-test-utils';
import { DatabaseUnavailableError } from 'backstage-plugin-catalog-tenancy-node';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const HOST = 'portal.example';
const MISMATCH = {
  host: 'acme.portal.example',
  authorization: `Bearer ${sign({ tenantSlug: 'globex' })}`,
};

describe('answers', () => {
  const directory = new InMemoryTenants();
  const count = { add: jest.fn() };
  const logger = mockServices.logger.mock();
  let backend: TenantBackend;

  beforeAll(async () => {
    backend = await startTenantBackend({
      directory,
      tenancy: { requireMatchingToken: true },
      features: [
        logger.factory,
        createServiceFactory({
          service: metricsServiceRef,
          deps: {},
          factory: () =>
            ({
              createCounter: () => count,
            } as unknown as typeof metricsServiceRef.T),
        }),
      ],
    });
  });

  beforeEach(() => {
    directory.lookups = [];
    directory.failure = undefined;
    count.add.mockClear();
    logger.debug.mockClear();
  });

  const REFUSALS: Array<[string, Record<string, string>]> = [
    ['an unknown tenant', { host: HOST, 'x-tenant-slug': 'unknown' }],
    ['no slug', { host: HOST, 'x-tenant-slug': 'Not A Slug' }],
    ['a hostname', { host: `unknown.${HOST}` }],
    ['a malformed hostname', { host: `acme..${HOST}` }],
    ['a token for another tenant', MISMATCH],
  ];

  it('are the same to the byte for whatever is no active tenant of the caller', async () => {
    const answers = [];
    for (const [, headers] of REFUSALS) {
      const answer = await backend.get(headers);
      expect(outcomeOf(answer)).toBe(REFUSED);
      const { date, ...others } = answer.headers;
      answers.push({ ...answer, headers: others });
    }
    for (const answer of answers) {
      expect(answer).toEqual(answers[0]);
    }
  });

  it('tell caches what they depend on, whatever they are', async () => {
    const accepted = await backend.get({ host: HOST });
    const refused = await backend.get({ host: `unknown.${HOST}` });
    directory.failure = new DatabaseUnavailableError('No connection');
    const failed = await backend.get({ host: HOST });
    expect([accepted, refused, failed].map(({ status }) => status)).toEqual([
      200, 403, 503,
    ]);
    for (const { headers } of [accepted, refused, failed]) {
      expect(headers.vary.split(', ')).toEqual(
        expect.arrayContaining([
          'Host',
          'X-Forwarded-Host',
          'Authorization',
          'X-Tenant-Slug',
        ]),
      );
    }
  });

  it.each([
    { host: HOST },
    { host: `acme.${HOST}` },
    { host: HOST, 'x-tenant-slug': 'acme' },
  ])(
    'are 503 with Retry-After, and no tenant, where the database cannot be reached: %j',
    async headers => {
      directory.failure = new DatabaseUnavailableError('No connection', {
        retryAfterSeconds: 7,
      });
      const answer = await backend.get(headers);
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('7');
      expect(answer.text).toContain('No connection');
      expect(answer.text).not.toContain('tenantId');
      expect(directory.lookups).toHaveLength(1);
    },
  );

  it('are 500, and no tenant, where the look-up fails otherwise', async () => {
    directory.failure = new TypeError('Something is wrong here');
    const answer = await backend.get({ host: `acme.${HOST}` });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('tenantId');
    expect(directory.lookups).toEqual(['acme']);
  });

  it('are counted by outcome and source, and by tenant where there is one', async () => {
    const acme = { 'x-tenant-slug': 'acme' };
    await backend.get({ host: HOST });
    await backend.get({ host: `acme.${HOST}` });
    await backend.get({
      host: HOST,
      authorization: `Bearer ${sign({ tenantSlug: 'globex' })}`,
    });
    await backend.get({ host: HOST, ...acme });
    await backend.get({ host: HOST, 'x-tenant-slug': 'unknown' });
    await backend.get({ host: HOST, 'x-tenant-slug': 'Not A Slug' });
    await backend.get(MISMATCH);
    await backend.get({ host: `acme..${HOST}` });
    await backend.get({ host: `user@acme.${HOST}` });
    directory.failure = new DatabaseUnavailableError('No connection');
    await backend.get({ host: HOST, ...acme });

    expect(count.add.mock.calls).toEqual([
      [1, { outcome: 'resolved', source: 'default', tenant: 'default' }],
      [1, { outcome: 'resolved', source: 'hostname', tenant: 'acme' }],
      [1, { outcome: 'resolved', source: 'token', tenant: 'globex' }],
      [1, { outcome: 'resolved', source: 'header', tenant: 'acme' }],
      // No slug that names no tenant: anybody could make up any number of them.
      [1, { outcome: 'invalid', source: 'header' }],
      [1, { outcome: 'invalid', source: 'header' }],
      [1, { outcome: 'mismatch', source: 'hostname' }],
      [1, { outcome: 'foreign', source: 'hostname' }],
      [1, { outcome: 'malformed', source: 'hostname' }],
      [1, { outcome: 'failed', source: 'header' }],
    ]);
  });

  it('are explained in the log of the operator, and there alone', async () => {
    const quotes = `"'${'x'.repeat(200)}`;
    expect(
      outcomeOf(await backend.get({ host: HOST, 'x-tenant-slug': quotes })),
    ).toBe(REFUSED);
    expect(outcomeOf(await backend.get(MISMATCH))).toBe(REFUSED);
    expect(outcomeOf(await backend.get({ host: `acme..${HOST}` }))).toBe(
      REFUSED,
    );
    const malformed = await backend.get({ host: `user@acme.${HOST}` });
    expect(malformed.status).toBe(400);
    expect(logger.debug.mock.calls.flat()).toEqual([
      `Refused a request for "\\"'${'x'.repeat(
        78,
      )}" (by its header), which is not an active tenant`,
      'Refused a request for tenant "acme" (by its hostname), because its token is for another',
      'Refused a request to the host "acme..portal.example": it is neither that of a base URL nor one label below one of tenancy.baseDomains',
      'Refused a request: InputError: Invalid host "user@acme.portal.example" in the header Host, expected a host name or an address, with a port or without',
    ]);
  });
});
