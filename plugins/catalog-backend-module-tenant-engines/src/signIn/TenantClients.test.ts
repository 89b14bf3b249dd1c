import { mockServices } from '@backstage/backend-test-utils';
import { encodeOAuthState, type OAuthState } from '@backstage/plugin-auth-node';
import { TestServer } from '@internal/catalog-testing/TestServer';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { flowSecretsOf } from './flowSecrets';
import { SignInConfig } from './SignInConfig';
import { tenantAuthenticator } from './tenantAuthenticator';
import { TenantClients } from './TenantClients';

const createKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
let keys = createKeys();
const SIGNERS: Record<string, (text: string) => Buffer> = {
  RS256: text => sign('sha256', Buffer.from(text), keys.privateKey),
  HS256: text => createHmac('sha256', 'secret').update(text).digest(),
  none: () => Buffer.alloc(0),
};

function tokenOf(alg: string, claims: object): string {
  const text = [{ alg }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${SIGNERS[alg](text).toString('base64url')}`;
}

describe('the clients of the providers of tenants', () => {
  let asked: number;
  let isDown: boolean;
  /** The issuer of the metadata, in place of the server. */
  let issuer: string | undefined;
  let idToken: string | undefined;
  let newRefreshToken: string | undefined;
  /** Of the claims of the provider beside the ID token. */
  let sub: string;
  let server: TestServer;
  let clients: TenantClients;

  beforeEach(async () => {
    asked = 0;
    isDown = false;
    issuer = undefined;
    idToken = undefined;
    newRefreshToken = 'refresh';
    sub = 'jane';
    server = await new TestServer((_req, res) => {
      asked += 1;
      res.writeHead(isDown ? 500 : 200, { 'content-type': 'application/json' });
      // The metadata, the keys, the tokens and the claims.
      res.end(
        JSON.stringify({
          issuer: issuer ?? server.url,
          token_endpoint: `${server.url}/token`,
          jwks_uri: `${server.url}/keys`,
          userinfo_endpoint: `${server.url}/claims`,
          keys: [keys.publicKey.export({ format: 'jwk' })],
          id_token: idToken,
          access_token: 'access',
          refresh_token: newRefreshToken,
          sub,
          preferred_username: sub,
        }),
      );
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

  it.each<[string, string, () => void]>([
    [
      'whose metadata name another issuer',
      'another issuer',
      () => (issuer = 'https://id.example.com'),
    ],
    ['that sends too much', 'more than', () => (idToken = 'x'.repeat(2 ** 21))],
    [
      'that takes too long',
      'too slow',
      () =>
        jest
          .spyOn(AbortSignal, 'timeout')
          .mockReturnValueOnce(AbortSignal.abort(new Error('too slow'))),
    ],
  ])('are none of a provider %s', async (_what, problem, happen) => {
    happen();
    await expect(use('acme')).rejects.toThrow(problem);
  });

  const tokenFor = (claims: object, alg = 'RS256') => {
    const seconds = Math.floor(Date.now() / 1000);
    return tokenOf(alg, {
      ...{ iss: server.url, aud: 'acme', sub: 'jane', nonce: 'n' },
      ...{ iat: seconds, exp: seconds + 60, ...claims },
    });
  };

  const signIn = (claims: object, alg?: string) => {
    idToken = tokenFor(claims, alg);
    return clients.use('acme', ({ client }) =>
      client.callback(
        'https://portal.example',
        { code: 'c', state: 's' },
        { nonce: 'n', state: 's', response_type: 'code' },
      ),
    );
  };

  it.each([
    ['of another issuer', { iss: 'https://id.example.com' }, 'unexpected iss'],
    ['for another client', { aud: 'globex' }, 'aud mismatch'],
    ['that is over', { exp: 1 }, 'JWT expired'],
    ['without an end', { exp: undefined }, 'missing required JWT property exp'],
    ['of another attempt', { nonce: 'other' }, 'nonce mismatch'],
    ['signed by nobody', { alg: 'none' }, 'unexpected JWT alg'],
    ['signed with the secret', { alg: 'HS256' }, 'unexpected JWT alg'],
  ])('take no ID token %s', async (_what, { alg, ...other }: any, problem) => {
    await expect(signIn(other, alg)).rejects.toThrow(problem);
  });

  it('take an ID token that is signed by a new key of the provider', async () => {
    await signIn({});
    keys = createKeys();
    await expect(signIn({})).resolves.toBeDefined();
  });

  it.each([
    ['iat', 5],
    ['nbf', 5],
    ['exp', -5],
  ])(
    'take an ID token of a clock that differs by seconds, by its %s',
    async (claim, seconds) => {
      const at = Math.floor(Date.now() / 1000) + seconds;
      await expect(signIn({ [claim]: at })).resolves.toBeDefined();
    },
  );

  it('take the claims of nobody but the subject of the ID token, also when a session goes on', async () => {
    const logger = mockServices.logger.mock();
    const { authenticate, refresh } = tenantAuthenticator({
      clients,
      key: 'key',
      logger,
    });
    const context = { callbackUrl: 'https://portal.example' };
    const state = { nonce: 'of the browser', env: 'test', tenant: 'acme' };
    const query = {
      code: 'c',
      state: encodeOAuthState(state as OAuthState),
      tenant: 'acme',
    };
    const url = `/?${new URLSearchParams(query)}`;
    const req = { method: 'GET', url, query } as never;
    const answer = () => authenticate({ req }, context);
    const goOn = (refreshToken: string) =>
      refresh({ req, refreshToken, scope: 'openid' }, context);
    const { nonce } = flowSecretsOf('key', {
      browserNonce: state.nonce,
      tenantId: 'acme',
      issuer: server.url,
    });
    idToken = tokenFor({ nonce });
    const { session } = await answer();
    // A provider may give no other token for the session.
    newRefreshToken = undefined;
    const next = await goOn(session.refreshToken!);
    expect(next.fullProfile.person.name).toBe('jane');
    expect(next.session.refreshToken).toBe(session.refreshToken);
    const forged = ['acme', server.url, 'acme', 'jane', 7];
    for (const text of ['not JSON', JSON.stringify(forged)]) {
      await expect(
        goOn(Buffer.from(text).toString('base64url')),
      ).rejects.toThrow('The session is of another provider');
    }
    sub = 'boss';
    await expect(answer()).rejects.toThrow("can't be used at the moment");
    expect(logger.warn).toHaveBeenCalledWith(
      expect.stringMatching('userinfo sub mismatch'),
      { tenant: 'acme' },
    );
    // A provider may give no ID token when a session goes on, or one of somebody else.
    for (const other of [undefined, tokenFor({ sub })]) {
      idToken = other;
      await expect(goOn(session.refreshToken!)).rejects.toThrow(
        'The session is of another person',
      );
    }
    idToken = tokenFor({ iss: 'https://id.example.com' });
    await expect(goOn(session.refreshToken!)).rejects.toThrow(
      /^The provider of this tenant can't be used at the moment. Try again later$/,
    );
    expect(logger.warn).toHaveBeenLastCalledWith(
      expect.stringContaining(`unexpected iss value, expected ${server.url}`),
      { tenant: 'acme' },
    );
  });

  it('ask again after a failure', async () => {
    isDown = true;
    await expect(use('acme')).rejects.toThrow();
    isDown = false;
    await expect(use('acme')).resolves.toBe('acme');
  });
});
