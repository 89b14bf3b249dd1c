import { createServiceFactory } from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { waitUntil } from '@internal/postgres/testUtils';
import {
  type EventLoopWatch,
  eventLoopWatchServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { get } from 'node:http';
import {
  classifiedPlugin,
  startGatedBackend,
} from './__testUtils__/startGatedBackend';

it('a request is not under way any more whose client has left before its tenant was found', async () => {
  let find = () => {};
  const found = new Promise<void>(resolve => (find = resolve));
  const begin = jest.fn();
  const end = jest.fn();
  const send = await startGatedBackend({
    directory: {
      findActive: async tenantSlug => {
        await found;
        return { tenantId: `id of ${tenantSlug}`, tenantSlug };
      },
      forget: () => {},
    },
    features: [
      classifiedPlugin('aware', { tenantAware: true }),
      createServiceFactory({
        service: eventLoopWatchServiceRef,
        deps: {},
        factory: () =>
          ({ begin: begin.mockReturnValue(end) } as unknown as EventLoopWatch),
      }),
    ],
  });
  const left = new Promise(resolve =>
    send.server.on('connection', socket => socket.once('close', resolve)),
  );
  const asked = new Promise(resolve => send.server.once('request', resolve));
  const client = get({
    port: send.port,
    path: '/api/aware/credentials',
    headers: { authorization: mockCredentials.user.header() },
  }).on('error', () => {});
  await asked;
  client.destroy();
  await left;
  find();
  await waitUntil('the gate', async () => begin.mock.calls.length === 1);
  expect(end).toHaveBeenCalledTimes(1);
});
