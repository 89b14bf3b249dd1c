import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { outcomeOf } from './__testUtils__/outcomeOf';
import { sendRaw } from './__testUtils__/send';
import { startRootRouter } from './__testUtils__/startRootRouter';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const PATH = '/api/catalog/entities';
const ACME = 'acme.portal.example';
const GLOBEX = 'globex.portal.example';

/** A request of exactly these lines. */
function request(target: string, ...lines: string[]): string {
  return [`GET ${target} HTTP/1.1`, ...lines, 'Connection: close\r\n\r\n'].join(
    '\r\n',
  );
}

describe('a request that names more than one host', () => {
  const directory = new InMemoryTenants();
  let backend: TenantBackend;

  beforeAll(async () => {
    backend = await startTenantBackend({ directory });
  });

  beforeEach(() => {
    directory.lookups = [];
  });

  const send = (bytes: string) => sendRaw(backend.port, bytes);

  it.each([
    ['that differ', [`Host: ${ACME}`, `Host: ${GLOBEX}`], 2],
    ['that agree', [`Host: ${ACME}`, `Host: ${ACME}`], 2],
    ['of which the first is empty', ['Host:', `Host: ${ACME}`], 2],
  ])(
    'in headers Host gets 400 before any tenant is looked for: %s',
    async (_title, lines, count) => {
      const { status, headers, text } = await send(request(PATH, ...lines));
      expect(status).toBe(400);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(headers.vary).toContain('Host, X-Forwarded-Host');
      expect(JSON.parse(text)).toMatchObject({
        error: {
          name: 'InputError',
          message: `The request has ${count} headers Host, expected one`,
        },
        response: { statusCode: 400 },
      });
      expect(directory.lookups).toEqual([]);
    },
  );

  it.each([
    ['another tenant', `http://${GLOBEX}`, ACME],
    ['the portal', 'http://portal.example', ACME],
    [
      'a tenant, in a request to the portal',
      `http://${ACME}`,
      'portal.example',
    ],
    ['a scheme that there is not', `foo://${GLOBEX}`, ACME],
    ['none', 'http://', ACME],
    ['a tenant, where Host is empty', `http://${ACME}`, ''],
  ])('by the URL and by Host gets 400: %s', async (_title, origin, host) => {
    const { status, text } = await send(
      request(`${origin}${PATH}`, `Host: ${host}`),
    );
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(
        /^The host ".*" in the URL is not that of the header Host, expected ".*"$/,
      ),
    });
    expect(directory.lookups).toEqual([]);
  });

  it.each([
    ['userinfo', `http://user@${ACME}`],
    ['userinfo that looks like a host', `http://${ACME}:80@${GLOBEX}`],
    ['a port that is none', `http://${ACME}:port`],
    ['two hosts', `http://${ACME},${GLOBEX}`],
  ])(
    'by a URL whose host is none gets no answer: %s',
    async (_title, origin) => {
      const { status, text } = await send(
        request(`${origin}${PATH}`, `Host: ${ACME}`),
      );
      // To Express, some of it has another path.
      expect([400, 404]).toContain(status);
      expect(text).not.toContain('tenantId');
      expect(directory.lookups).toEqual([]);
    },
  );

  it.each([
    [`http://${ACME}`, ACME],
    [`http://${ACME}:7007`, `${ACME}:7007`],
    [`https://${ACME}`, `${ACME}:443`],
    ['http://Acme.Portal.Example.', ACME],
    [`http://${ACME}`, 'ACME.portal.example.'],
  ])(
    'is none where the URL and Host agree: %s and %s',
    async (origin, host) => {
      expect(
        outcomeOf(await send(request(`${origin}${PATH}`, `Host: ${host}`))),
      ).toBe('acme');
    },
  );
});

describe('a request with more headers than Node.js keeps', () => {
  const directory = new InMemoryTenants();
  const fillers = (count: number) => Array<string>(count).fill('a:');

  it.each([
    ['Host', [`Host: ${GLOBEX}`]],
    ['X-Tenant-Slug', ['X-Tenant-Slug: globex']],
    ['X-Forwarded-Host', [`X-Forwarded-Host: ${GLOBEX}`]],
    ['nothing', []],
  ])(
    'gets 400, for what names another tenant may be among those dropped: %s',
    async (_title, lines) => {
      const backend = await startRootRouter({
        directory,
        backend: { trustProxy: true },
      });
      directory.lookups = [];
      // Node.js drops them in parts, after the first thousand, or answers 431 itself.
      for (const count of [998, 1_100, 2_000]) {
        const { status, text } = await sendRaw(
          backend.port,
          request(PATH, `Host: ${ACME}`, ...fillers(count), ...lines),
        );
        expect(`${status} ${text}`).toMatch(
          /^431|^400 .*"InputError".*too many headers, expected fewer than 1000/,
        );
      }
      expect(directory.lookups).toEqual([]);
      await backend.stop();
    },
  );
});

describe('a header that is sent twice, where one would count', () => {
  const directory = new InMemoryTenants();
  const bearer = (tenantSlug: string) =>
    `Authorization: Bearer ${sign({ tenantSlug })}`;
  let backend: TenantBackend;

  beforeAll(async () => {
    backend = await startTenantBackend({ directory });
  });

  const outcome = async (...lines: string[]) =>
    outcomeOf(
      await sendRaw(
        backend.port,
        request(PATH, 'Host: portal.example', ...lines),
      ),
    );

  it('is the first, as for Backstage: Authorization', async () => {
    await expect(outcome(bearer('acme'), bearer('globex'))).resolves.toBe(
      'acme',
    );
    await expect(
      outcome('Authorization: Basic eDp5', bearer('globex')),
    ).resolves.toBe('default');
  });
});
