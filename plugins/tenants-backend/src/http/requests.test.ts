import { mockServices } from '@backstage/backend-test-utils';
import { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';
import {
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';

const JSON_TYPE = 'application/json';

// No request here reaches the database.
const nowhere = TenancyPool.create({
  connection: { host: '127.0.0.1', port: 1 },
  schema: 'tenancy',
  pool: { max: 1, idleTimeoutMs: 1_000, connectionTimeoutMs: 1_000 },
  logger: mockServices.logger.mock(),
});

describe('the body of a request', () => {
  let backend: TenantsBackend;

  beforeAll(async () => {
    backend = await startTenantsBackend({ pool: nowhere });
  });
  afterAll(() => nowhere.close());

  describe.each([
    ['POST /', () => backend.admin.post('')],
    ['PATCH /:slug', () => backend.admin.patch('/acme')],
  ])('%s', (_route, send) => {
    it.each(['{', '{"tenant_slug":', 'tenant_slug=x', '\0'])(
      'refuses the malformed JSON %j with 400, and does not send it back',
      async text => {
        const response = await send().set('Content-Type', JSON_TYPE).send(text);
        expect(response.status).toBe(400);
        expect(response.body.error.name).toBe('InputError');
        expect(response.body.error.message).toContain('not valid JSON');
        expect(response.body.error).not.toHaveProperty('body');
        expect(response.text).not.toContain('.ts:');
      },
    );

    it('refuses a missing body with 400', async () => {
      const response = await send();
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain('it is missing, expected');
    });

    it('refuses a body of another type with 415 that names it', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const response = await send().set('Content-Type', type).send('a=b');
        expect(response.status).toBe(415);
        expect(response.body.error.message).toContain(type);
        expect(response.body.error.message).toContain(JSON_TYPE);
      }
    });

    it('refuses an encoding that it cannot read with 415', async () => {
      const response = await send()
        .set('Content-Type', JSON_TYPE)
        .set('Content-Encoding', 'zstd')
        .send('{}');
      expect(response.status).toBe(415);
    });

    it('refuses a body over 100 KiB with 413', async () => {
      const response = await send().send({ tenant_name: 'x'.repeat(102_400) });
      expect(response.status).toBe(413);
      expect(response.body.error.message).toContain('102400 bytes');
    });
  });
});
