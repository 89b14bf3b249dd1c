import type { Caller } from '@internal/catalog-testing/caller';
import { describedRoutes } from '@internal/catalog-testing/describedFetch';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { gzipSync } from 'node:zlib';
import { testBackend, UNKNOWN_ID } from '../__testUtils__/startMockupBackend';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';

const databases = createTestDatabases({ versions: 'newest' });

const JSON_TYPE = 'application/json';

describe.each(databases.eachSupportedId())('requests on %s', id => {
  let mockupId: string;

  const backend = testBackend(databases, id);

  beforeAll(async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    mockupId = body.id;
  });

  const writes = [
    ['POST /mockups', () => backend.alice.post('/mockups')],
    ['PATCH /mockups/:id', () => backend.alice.patch(`/mockups/${mockupId}`)],
    [
      'POST /mockups/:id/versions',
      () => backend.alice.post(`/mockups/${mockupId}/versions`),
    ],
  ] as const;

  describe.each(writes)('%s', (_route, send) => {
    it.each(['{', '{"name":', "{'name':'x'}", 'name=x', '\0', '"x"', '7'])(
      'refuses the malformed JSON %j with 400, and does not send it back',
      async text => {
        const response = await send().set('Content-Type', JSON_TYPE).send(text);
        expect(response.status).toBe(400);
        expect(response.body.error.name).toBe('InputError');
        expect(response.body.error).not.toHaveProperty('body');
        expect(response.text).not.toContain('.ts:');
      },
    );

    it('refuses a body of another type with 415 that names it', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const response = await send().set('Content-Type', type).send('name=x');
        expect(response.status).toBe(415);
        expect(response.body.error.message).toContain(type);
        expect(response.body.error.message).toContain(JSON_TYPE);
      }
    });

    it('refuses a missing body with 400', async () => {
      const response = await send();
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        'Invalid request body: it is missing, expected an object with',
      );
    });

    it('refuses an encoding or character set that it cannot read with 415', async () => {
      const encoded = await send()
        .set('Content-Type', JSON_TYPE)
        .set('Content-Encoding', 'zstd')
        .send('{}');
      expect(encoded.status).toBe(415);
      const inLatin = await send()
        .set('Content-Type', `${JSON_TYPE}; charset=latin1`)
        .send('{}');
      expect(inLatin.status).toBe(415);
    });

    it('refuses a body over 1 MiB with 413, compressed or not', async () => {
      const large = JSON.stringify({ name: 'x'.repeat(1024 * 1024) });
      const plain = await send().set('Content-Type', JSON_TYPE).send(large);
      expect(plain.status).toBe(413);
      expect(plain.body.error.message).toContain('1048576 bytes');

      const compressed = await send()
        .set('Content-Type', JSON_TYPE)
        .set('Content-Encoding', 'gzip')
        .serialize(body => body)
        .send(gzipSync(large) as unknown as string);
      expect(compressed.status).toBe(413);
    });

    it('refuses values nested without end', async () => {
      const depth = 100_000;
      const deep = '['.repeat(depth) + ']'.repeat(depth);
      for (const field of ['name', 'layoutData', 'unknown']) {
        const response = await send()
          .set('Content-Type', JSON_TYPE)
          .send(`{"${field}":${deep}}`);
        expect(response.status).toBe(400);
      }
    });

    it('refuses __proto__ as an unknown field', async () => {
      const response = await send()
        .set('Content-Type', JSON_TYPE)
        .send('{"__proto__":{"name":"x"},"name":"x","layoutData":[]}');
      expect(response.status).toBe(400);
    });

    it('asks for credentials before it looks at the body', async () => {
      const response = await send()
        .set('Content-Type', JSON_TYPE)
        .set('Authorization', 'Bearer mock-none-token')
        .send('{');
      expect(response.status).toBe(401);
    });
  });

  describe('credentials', () => {
    it.each(describedRoutes(createOpenApiDocument()))(
      'of nobody are refused at %s, and those of a service where it writes',
      async route => {
        const [method, path] = route.split(' ');
        const at = path.replace(/{\w+}/g, UNKNOWN_ID);
        const statusOf = async (caller: Caller) =>
          (await caller[method as keyof Caller](at)).status;
        expect(await statusOf(backend.anonymous)).toBe(401);
        // What is not there has no editors, whoever asks.
        const isRead = method === 'get' || path.endsWith('/editors');
        expect(isRead ? [200, 204, 400, 404] : [403]).toContain(
          await statusOf(backend.service),
        );
      },
    );

    it('of a service are enough to read', async () => {
      const { body: version } = await backend.alice.post(
        `/mockups/${mockupId}/versions`,
        { layoutData: [] },
      );
      for (const path of [
        '/mockups',
        `/mockups/${mockupId}`,
        `/mockups/${mockupId}/versions`,
        `/mockups/${mockupId}/versions/${version.id}`,
        '/openapi.json',
      ]) {
        expect((await backend.service.get(path)).status).toBe(200);
        expect((await backend.anonymous.get(path)).status).toBe(401);
      }
    });
  });
});
