// An OpenID provider as a process: the library is an ES module, which Jest cannot load.
// It has one client, asks for a name and any password, and says that the e-mail address
// of `jane` is jane@example.com, which it has verified, but for that of `unverified`.

import Provider from 'oidc-provider';
import { once } from 'node:events';
import { createServer } from 'node:http';

const { clientId, clientSecret, redirectUri, port } = JSON.parse(
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
    email: ['email', 'email_verified'],
    profile: ['name'],
  },
  features: { revocation: { enabled: true } },
  // As most providers do; this one would want `prompt: consent` for it.
  issueRefreshToken: async (_ctx, client) =>
    client.grantTypeAllowed('refresh_token'),
  findAccount: async (_ctx, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id,
      name: id,
      email: `${id}@example.com`,
      email_verified: id !== 'unverified',
    }),
  }),
});
server.on('request', provider.callback());
process.stdout.write(`${issuer}\n`);
