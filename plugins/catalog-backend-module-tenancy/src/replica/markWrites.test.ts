import { assignTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { Request, Response } from 'express';
import { EventEmitter } from 'node:events';
import { markWrites } from './markWrites';

const acme = { tenantId: 'id of acme', tenantSlug: 'acme' };

it.each([
  ['is answered', false],
  ['has been left by its client', true],
])('a write has ended once it %s', (_, closed) => {
  const req = { method: 'POST' } as Request;
  const res = Object.assign(new EventEmitter(), { closed });
  const end = jest.fn();
  assignTenant(req, acme);
  markWrites({ writing: () => end })(
    req,
    res as unknown as Response,
    () => undefined,
  );
  if (!closed) {
    res.emit('close');
  }
  expect(end).toHaveBeenCalledTimes(1);
});
