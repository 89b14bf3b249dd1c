import type { Entity } from '@backstage/catalog-model';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { EXIT_CODES } from 'backstage-catalog-tenancy-migrations';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import type { ClientConfig } from 'pg';
import type { Response } from 'supertest';
import { component } from '@internal/catalog-testing/entities';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { runCommand, runInProcess, urlOf } from './__testUtils__/migrations';

// Commands are processes, and go through many statements, on a machine that is busy.

const databases = createTestDatabases({ versions: 'newest' });

const LONG_WAITS = {
  connectionTimeoutMs: 300_000,
  statementTimeoutMs: 300_000,
};

const NAME = '/entities/by-name/component/default/service-1';

/** What is read of a tenant, and how many entities the answer speaks of. */
const READS: Record<
  string,
  {
    send: (as: ReturnType<CatalogBackend['as']>) => PromiseLike<Response>;
    count: (body: any) => number;
  }
> = {
  list: {
    send: as => as.get('/entities'),
    count: body => body.length,
  },
  filter: {
    send: as => as.get('/entities?filter=kind=component&limit=50'),
    count: body => body.length,
  },
  page: {
    send: as => as.get('/entities/by-query?limit=50'),
    count: body =>
      body.items.length === body.totalItems ? body.totalItems : -1,
  },
  facets: {
    send: as => as.get('/entity-facets?facet=kind'),
    count: body => body.facets.kind[0]?.count ?? 0,
  },
};

/** Those that speak of one entity. */
const LOOK_UPS: typeof READS = {
  name: {
    send: as => as.get(NAME),
    count: body => (body.metadata.name === 'service-1' ? 1 : 0),
  },
  ancestry: {
    send: as => as.get(`${NAME}/ancestry`),
    count: body => body.items.length,
  },
  refs: {
    send: as =>
      as.post('/entities/by-refs', {
        entityRefs: ['component:default/service-1'],
      }),
    count: body => body.items.filter(Boolean).length,
  },
};

describe.each(databases.eachSupportedId())(
  'a backend with the flag on, whose tables are taken back on %s',
  id => {
    let backend: CatalogBackend;
    let connection: ClientConfig;
    let acme: string;
    const entities = { default: 12, acme: 7 };

    const services = (count: number): Entity[] =>
      Array.from({ length: count }, (_, index) =>
        component(`service-${index}`),
      );

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id, {
        swapped: true,
      });
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        // Or a busy machine would be answered with 503 as well.
        config: { tenancy: { database: { pool: LONG_WAITS } } },
      });
      await insertEntities(
        connection,
        DEFAULT_TENANT_ID,
        services(entities.default),
      );
      acme = await backend.createTenant('acme', services(entities.acme));
    });

    /** Reads everything of every tenant once, and tells each answer in a word. */
    async function readAll(): Promise<string[]> {
      const answers: Promise<string>[] = [];
      for (const slug of ['default', 'acme'] as const) {
        for (const [reads, expected] of [
          [READS, entities[slug]],
          [LOOK_UPS, 1],
        ] as const) {
          for (const [what, { send, count }] of Object.entries(reads)) {
            answers.push(
              Promise.resolve(send(backend.as(slug))).then(response =>
                describeAnswer(
                  `${slug} ${what}`,
                  response,
                  () => count(response.body) === expected,
                ),
              ),
            );
          }
        }
      }
      return Promise.all(answers);
    }

    function describeAnswer(
      what: string,
      { status, headers, text }: Response,
      isComplete: () => boolean,
    ): string {
      if (status === 200 && isComplete()) {
        return 'complete';
      }
      return status === 503 && Number(headers['retry-after']) > 0
        ? 'later'
        : `${what}: ${status} ${text.slice(0, 200)}`;
    }

    /** Reads without a pause while a command is at work, and counts the answers. */
    async function readDuring(
      ...args: string[]
    ): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      let finished = false;
      const command = runCommand(urlOf(connection), args).finally(() => {
        finished = true;
      });
      while (!finished) {
        for (const answer of await readAll()) {
          counts[answer] = (counts[answer] ?? 0) + 1;
        }
      }
      await command;
      return counts;
    }

    const distinct = async () => [...new Set(await readAll())];

    it('answers every read of every tenant in full or with 503, and never an empty list', async () => {
      await expect(distinct()).resolves.toEqual(['complete']);

      const refused = await runInProcess(connection, 'rollback');
      expect(refused.exitCode).toBe(EXIT_CODES.applicationConnected);
      expect(refused.stderr).toContain(
        '- "backstage_tenancy", login portal_app, process ',
      );
      await expect(distinct()).resolves.toEqual(['complete']);

      const back = await readDuring('rollback', '--force');
      expect(Object.keys(back).sort()).toEqual(['complete', 'later']);
      await expect(distinct()).resolves.toEqual(['later']);
      const { body, headers } = await backend.as('acme').get('/entities');
      expect(headers['retry-after']).toBe('10');
      expect(body.error).toMatchObject({
        name: 'ServiceUnavailableError',
        message:
          'The catalogs of tenants are not available at the moment: their tables are not in place',
      });

      const forth = await readDuring('phase5');
      expect(Object.keys(forth)).toContain('later');
      expect(
        Object.keys(forth).filter(
          answer => !['complete', 'later'].includes(answer),
        ),
      ).toEqual([]);
      await expect(distinct()).resolves.toEqual(['complete']);
    });

    /** In this process: whose command it is makes no difference to the database. */
    async function run(...args: string[]): Promise<void> {
      const { exitCode, stderr } = await runInProcess(connection, ...args);
      expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, '']);
    }

    it('writes nothing into the tables that are back', async () => {
      await run('rollback', '--force');
      await expect(
        backend.write(acme, {
          type: 'full',
          entities: services(1),
        }),
      ).rejects.toMatchObject({ name: 'ServiceUnavailableError' });
      await expect(
        backend.tenants.create({ tenant_slug: 'late', tenant_name: 'Late' }),
      ).rejects.toMatchObject({ name: 'ServiceUnavailableError' });
      await run('phase5');
      await expect(distinct()).resolves.toEqual(['complete']);
    });

    it('says so of every phase that is undone then', async () => {
      await run('rollback', '--to', '4', '--force', '--yes');
      for (const phase of ['3', '2', '1', '0']) {
        await run('rollback', '--to', phase, '--force', '--yes');
        await expect(distinct()).resolves.toEqual(['later']);
      }
    });
  },
);
