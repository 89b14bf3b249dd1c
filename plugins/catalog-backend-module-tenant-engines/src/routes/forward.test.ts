import { mockServices } from '@backstage/backend-test-utils';
import { assignTenant } from 'backstage-plugin-catalog-tenancy-node';
import express, { type Response, Router } from 'express';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupervisedEngine } from '../engine/SupervisedEngine';
import { forwardToEngine } from './forward';

it('tells of work that is done after its client has left', async () => {
  const router = Router();
  const answered = jest.fn((_req, res: Response) => res.json({}));
  router.post('/locations', answered);
  const notifyWork = jest.fn();
  let letIn = (_: SupervisedEngine) => {};
  const app = express();
  const left = new Promise<void>(resolve => {
    app.use((req, res, next) => {
      assignTenant(req, { tenantId: 'id of acme', tenantSlug: 'acme' });
      res.once('close', resolve);
      next();
    });
  });
  const asked = new Promise<void>(resolve => {
    app.use(
      forwardToEngine({
        find: () =>
          new Promise(found => {
            letIn = found;
            resolve();
          }),
        logger: mockServices.logger.mock(),
        notifyWork,
      }),
    );
  });
  const server = createServer(app).listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const call = request({ port, method: 'POST', path: '/locations' });
  call.on('error', () => undefined).end();
  await asked;
  call.destroy();
  await left;
  expect(notifyWork).not.toHaveBeenCalled();
  letIn({ engine: { router }, settled: async () => {} } as never);
  await once(server.close(), 'close');
  await new Promise(setImmediate);
  expect(answered).toHaveBeenCalled();
  expect(notifyWork).toHaveBeenCalledWith('id of acme');
});
