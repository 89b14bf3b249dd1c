import { mockServices } from '@backstage/backend-test-utils';
import { TestServer } from '@internal/catalog-testing/TestServer';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import { SignInConfig } from './SignInConfig';
import { TenantClients } from './TenantClients';

describe('the clients of the providers of tenants', () => {
  let asked: number;
  let isDown: boolean;
  /** The issuer of the metadata, in place of the server. */
  let issuer: string | undefined;
  let server: TestServer;
  let clients: TenantClients;

  beforeEach(async () => {
    asked = 0;
    isDown = false;
    issuer = undefined;
    server = await new TestServer((_req, res) => {
      asked += 1;
      res.writeHead(isDown ? 500 : 200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ issuer: issuer ?? server.url }));
    }).listen();
    clients = new TenantClients({
      signIns: {
        find: async tenantSlug => ({
          tenant: { tenantId: tenantSlug, tenantSlug },
          provider: {
            issuer: server.url,
            client_id: tenantSlug,
            client_secret: 'secret',
          } as PutTenantSignIn,
        }),
      },
      config: new SignInConfig(
        mockServices.rootConfig({
          data: {
            auth: { session: { secret: 'x' }, providers: { tenant: {} } },
            backend: { reading: { allow: [{ host: server.host }] } },
            tenancy: {
              enabled: true,
              membership: 'required',
              membershipOfDefault: 'members',
            },
          },
        }),
      ),
    });
  });

  afterEach(async () => {
    jest.useRealTimers();
    await server.stop();
  });

  const use = (tenantSlug: string) =>
    clients.use(tenantSlug, async ({ client }) => client.metadata.client_id);

  it('share one request for the metadata of a provider, which are kept for a minute', async () => {
    jest.useFakeTimers({
      doNotFake: [
        'Date',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
      ],
    });
    await expect(Promise.all(['acme', 'globex'].map(use))).resolves.toEqual([
      'acme',
      'globex',
    ]);
    await jest.advanceTimersByTimeAsync(59_000);
    await use('acme');
    expect(asked).toBe(1);
    await jest.advanceTimersByTimeAsync(1_000);
    await use('acme');
    expect(asked).toBe(2);
  });

  it('are none of a provider whose metadata name another issuer', async () => {
    issuer = 'https://id.example.com';
    await expect(use('acme')).rejects.toThrow('another issuer');
  });

  it('ask again after a failure', async () => {
    isDown = true;
    await expect(use('acme')).rejects.toThrow();
    isDown = false;
    await expect(use('acme')).resolves.toBe('acme');
  });
});
