import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import type { Entity } from '@backstage/catalog-model';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, escapeIdentifier } from 'pg';
import { BackendProcess } from '../__testUtils__/BackendProcess';

/* eslint-disable jest/expect-expect -- what waits for the end of a step expects it */

const databases = createTestDatabases({ versions: 'newest' });

/** In the names of all that is shared, and nowhere else. */
const MARK = 'widget';

type Census = Record<string, number>;

const apiOf = (name: string, description: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'API',
  metadata: { name: `${MARK}-${name}`, description },
  spec: {
    type: 'grpc',
    lifecycle: 'production',
    owner: 'team',
    definition: '-',
  },
});

// Each step has one backend, which is killed before a statement of it. The next one must make
// of it what an undisturbed backend does.

describe.each(databases.eachSupportedId())(
  'a backend that is killed while it carries out a share, on %s',
  id => {
    let connection: ClientConfig;
    let client: Client;
    let backend: BackendProcess;
    let baseUrl: string;
    let undisturbed: Census;
    const tenantIds = new Map<string, string>();

    const query = async (text: string, values: unknown[] = []) =>
      (await client.query(text, values)).rows;

    function start() {
      backend = BackendProcess.start({
        baseUrl,
        connection,
        tenancy: { engines: { leaseSeconds: 5 } },
        config: { shareCommands: true },
      });
    }

    const until = (what: string, look: () => Promise<boolean>) =>
      backend.until(what, look);

    function feed(description: string) {
      backend.send({
        action: 'feed',
        tenantId: tenantIds.get('acme')!,
        entities: [apiOf('a', description), apiOf('b', description)],
      });
    }

    const share = () =>
      backend.send({
        action: 'share',
        slug: 'acme',
        target: 'globex',
        filter: 'kind=api',
      });

    async function end() {
      const [{ id: shareId }] = await query(
        'select share_id::text as id from tenancy.tenant_shares',
      );
      backend.send({ action: 'end', slug: 'acme', shareId });
    }

    const entitiesOf = (slug: string) =>
      query(
        `select final_entity #>> '{metadata,description}' as text
           from tenancy.entities where tenant_id = $1 and deleted_at is null`,
        [tenantIds.get(slug)],
      );
    const own = async () => (await entitiesOf('acme')).length;
    const copies = async () => (await entitiesOf('globex')).length;

    const untilNoted = () =>
      until(
        'the numbers of copies',
        async () =>
          (
            await query(
              'select from tenancy.tenant_share_copies where copies = 2',
            )
          ).length === 1,
      );

    /** How many rows of each table name what is shared. */
    async function census(slug: string): Promise<Census> {
      const tenantId = tenantIds.get(slug)!;
      const schema = engineSchemaOf(tenantId);
      const tables = await query(
        `select relname as name from pg_class
          where relnamespace = $1::regnamespace and relkind in ('r', 'p')`,
        [schema],
      );
      const counts: Census = {};
      const count = async (table: string, where = 'true') => {
        const [{ rows }] = await query(
          `select count(*)::int as rows from ${table} t
            where t::text like '%${MARK}%' and ${where}`,
        );
        if (rows > 0) {
          counts[table.replace(schema, 'engine')] = rows;
        }
      };
      for (const { name } of tables) {
        await count(`${escapeIdentifier(schema)}.${escapeIdentifier(name)}`);
      }
      const isOfTenant = `tenant_id = '${tenantId}'`;
      await count('tenancy.entities', `${isOfTenant} and deleted_at is null`);
      await count('tenancy.relations', isOfTenant);
      return counts;
    }

    const notes = () =>
      query(
        `select t.tenant_slug as slug, c.copies, c.conflicts
           from tenancy.tenant_share_copies c join tenancy.tenants t using (tenant_id)`,
      );

    async function untilNothingIsLeft() {
      await until(
        'the copies to be gone',
        async () => (await copies()) + (await notes()).length === 0,
      );
      expect(await census('globex')).toEqual({});
      expect(await census('initech')).toEqual({});
    }

    async function untilAllIsThere(description: string) {
      await until('the copies', async () => {
        const texts = (await entitiesOf('globex')).map(({ text }) => text);
        return texts.join() === `${description},${description}`;
      });
      await untilNoted();
      // An entity may be on its way through the engine a second time.
      await eventually(async () =>
        expect(await census('globex')).toEqual(undisturbed),
      );
      expect(await census('initech')).toEqual({});
      expect(await notes()).toEqual([
        { slug: 'globex', copies: 2, conflicts: 0 },
      ]);
    }

    /**
     * Kills the backend before a statement that changes a table, and starts another one.
     *
     * @param act - sets off what leads to the statement
     * @param meanwhile - while no backend runs
     */
    async function killBefore(
      table: string,
      act: () => unknown,
      meanwhile: () => Promise<unknown> = async () => undefined,
    ): Promise<void> {
      const name = table.replace(
        'engine.',
        `${escapeIdentifier(engineSchemaOf(tenantIds.get('globex')!))}.`,
      );
      const waiting = `pg_locks where relation = '${name}'::regclass and not granted`;
      const holder = new Client(connection);
      await holder.connect();
      try {
        await holder.query(
          `begin; lock table ${name} in share row exclusive mode`,
        );
        await act();
        await until(
          `a change of ${table}`,
          async () => (await query(`select from ${waiting}`)).length > 0,
        );
        await backend.kill();
        // PostgreSQL would notice the end of the process after the statement alone.
        await query(`select pg_terminate_backend(pid) from ${waiting}`);
      } finally {
        await holder.end();
      }
      await meanwhile();
      start();
    }

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      client = new Client(connection);
      await client.connect();
      const rows = await query(
        `insert into tenancy.tenants (tenant_slug, tenant_name)
         select slug, slug from unnest('{acme,globex,initech}'::text[]) slug
         returning tenant_slug as slug, tenant_id as id`,
      );
      rows.forEach(row => tenantIds.set(row.slug, row.id));
      baseUrl = `http://127.0.0.1:${await freePort()}`;
      start();
      feed('one');
      await until('acme to have its own', async () => (await own()) === 2);
      share();
      await until('the copies', async () => (await copies()) === 2);
      await untilNoted();
      undisturbed = await census('globex');
      await end();
      await untilNothingIsLeft();
    });

    afterAll(async () => {
      await backend?.kill();
      await client?.end();
    });

    it('before the share is there shares nothing', async () => {
      await killBefore('tenancy.tenant_shares', share);
      expect(await query('select from tenancy.tenant_shares')).toEqual([]);
      await untilNothingIsLeft();
    });

    it.each([
      ['it notes that there may be copies', 'tenancy.tenant_share_copies'],
      ['it hands the copies to the engine', 'engine.refresh_state'],
      [
        'the engine knows where they are from',
        'engine.refresh_state_references',
      ],
      ['the engine has stitched them', 'engine.final_entities'],
      ['they are served', 'tenancy.entities'],
    ])('before %s brings each once', async (_, table) => {
      await killBefore(table, share);
      await untilAllIsThere('one');
      await end();
      await untilNothingIsLeft();
    });

    it('before it notes that there may be copies leaves nothing of a share that has ended since', async () => {
      await killBefore('tenancy.tenant_share_copies', share, () =>
        query('delete from tenancy.tenant_shares'),
      );
      await untilNothingIsLeft();
    });

    it.each([
      ['two', 'the engine', 'engine.refresh_state'],
      ['one', 'the tables of tenants', 'tenancy.entities'],
    ])('before change %s is in %s brings it', async (text, _, table) => {
      if ((await query('select from tenancy.tenant_shares')).length === 0) {
        share();
        await untilAllIsThere('one');
      }
      await killBefore(table, () => feed(text));
      await untilAllIsThere(text);
    });

    it('before the share has ended keeps it', async () => {
      await killBefore('tenancy.tenant_shares', end);
      await untilAllIsThere('one');
    });

    it.each([
      ['it notes the end', 'tenancy.tenant_share_copies'],
      ['the engine has removed them', 'engine.refresh_state'],
      ['they are no longer served', 'tenancy.entities'],
    ])('before %s leaves nothing', async (_, table) => {
      if ((await query('select from tenancy.tenant_shares')).length === 0) {
        share();
        await untilAllIsThere('one');
      }
      await killBefore(table, end);
      await untilNothingIsLeft();
    });
  },
);
