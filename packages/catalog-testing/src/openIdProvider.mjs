// The process that startOpenIdProvider.ts starts: the library is an ES module, which Jest cannot load.

import Provider from 'oidc-provider';
import { once } from 'node:events';
import { createServer } from 'node:http';

const { clientId, clientSecret, redirectUri, port, accounts } = JSON.parse(
  process.argv[2],
);

// Ends with the process that has started it.
process.stdin.resume().once('end', () => process.exit());

const server = createServer();
server.listen(port ?? 0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  claims: {
    openid: ['sub'],
    profile: ['name', 'preferred_username', 'groups'],
    email: ['email', 'email_verified'],
  },
  features: { revocation: { enabled: true } },
  // As most providers do; this one would want `prompt: consent` for it.
  issueRefreshToken: async () => true,
  findAccount: async (_ctx, id) => ({
    accountId: id,
    claims: async () => ({ sub: id, ...accounts[id] }),
  }),
});

const callback = provider.callback();
server.on('request', async (req, res) => {
  const params = req.url.startsWith('/interaction/')
    ? (await provider.interactionDetails(req, res)).params
    : {};
  if (!params.login_hint) {
    callback(req, res);
    return;
  }
  const accountId = params.login_hint;
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  await provider.interactionFinished(req, res, {
    login: { accountId },
    consent: { grantId: await grant.save() },
  });
});
process.stdout.write(`${issuer}\n`);
