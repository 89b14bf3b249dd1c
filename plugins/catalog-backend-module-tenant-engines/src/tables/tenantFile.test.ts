import type { Entity } from '@backstage/catalog-model';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import { BackendProcess, CALLER_TOKEN } from '../__testUtils__/BackendProcess';

const ROOT = resolve(__dirname, '../../../..');
const CLI = join(
  ROOT,
  'packages/catalog-tenancy-cli/bin/backstage-catalog-tenancy-cli',
);

const ENTITIES = 40;

const databases = createTestDatabases({ versions: 'newest' });

const entities = (title: string): Entity[] =>
  Array.from({ length: ENTITIES }, (_, n) => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name: `part-${n}`, title },
    spec: { type: 'service', lifecycle: 'production', owner: 'team' },
  }));

// What docs/operators/tenants.md says, by the command line and beside backends whose engines work.

describe.each(databases.eachSupportedId())('a tenant in a file, on %s', id => {
  let connection: ClientConfig;
  let client: Client;
  let backend: BackendProcess;
  let baseUrl: string;
  let folder: string;
  /** The database of another deployment. */
  let elsewhere: ClientConfig | undefined;

  const query = async (text: string, values: unknown[] = []) =>
    (await client.query(text, values)).rows;

  const idOf = async (slug: string): Promise<string> => {
    const [row] = await query(
      'select tenant_id from tenancy.tenants where tenant_slug = $1',
      [slug],
    );
    return row?.tenant_id;
  };

  const titled = async (slug: string, title: string): Promise<boolean> => {
    const [{ count }] = await query(
      `select count(*)::int as count from tenancy.entities e join tenancy.tenants t using (tenant_id)
        where tenant_slug = $1 and final_entity #>> '{metadata,title}' = $2
          and e.deleted_at is null`,
      [slug, title],
    );
    return count === ENTITIES;
  };

  const contents = (tenantId: string) =>
    query(
      `select entity_id, entity_ref, final_entity, hash, created_at, updated_at
         from tenancy.entities where tenant_id = $1 order by 1`,
      [tenantId],
    );

  const urlOf = ({ host, port, user, password, database }: ClientConfig) =>
    `postgresql://${user}:${password}@${host}:${port}/${database}`;

  const start = () =>
    BackendProcess.start({
      baseUrl,
      connection,
      tenancy: { admins: ['caller'] },
      config: { shareCommands: true, registry: true },
    });

  const get = async (path: string): Promise<string> => {
    const response = await fetch(`${baseUrl}/api/${path}`, {
      headers: {
        Authorization: `Bearer ${CALLER_TOKEN}`,
        'X-Tenant-Slug': 'globex',
      },
    });
    expect(response.status).toBe(200);
    return response.text();
  };

  const tenant = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [CLI, 'tenant', ...args],
      {
        cwd: ROOT,
        env: {
          ...process.env,
          MIGRATION_DATABASE_URL: urlOf(connection),
          MIGRATION_TO_URL: elsewhere && urlOf(elsewhere),
          TENANCY_URL: baseUrl,
          TENANCY_TOKEN: CALLER_TOKEN,
        },
      },
    );
    return stdout;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tenant-file-'));
    connection = await createTenancyDatabase(databases, id);
    client = new Client(connection);
    await client.connect();
    await query(
      `insert into tenancy.tenants (tenant_slug, tenant_name, max_entities) values ('acme', 'Acme', 100000)`,
    );
    baseUrl = `http://127.0.0.1:${await freePort()}`;
    backend = start();
    backend.send({
      action: 'feed',
      tenantId: await idOf('acme'),
      entities: entities('one'),
    });
    await backend.until('the entities', () => titled('acme', 'one'));
  });
  afterAll(async () => {
    await backend?.kill();
    await client?.end();
    await rm(folder, { recursive: true, force: true });
  });

  it('is made by a file, and tells what was done in it and what it used', async () => {
    const file = join(folder, 'tenants.yaml');
    await writeFile(
      file,
      `tenants:
  - slug: globex
    name: Globex
    members:
      user:default/jane: admin
`,
    );
    const planned = await tenant('apply', '-f', file, '--plan');
    await expect(tenant('apply', '-f', file)).resolves.toContain(planned);
    await expect(tenant('apply', '-f', file)).resolves.toBe(
      'All tenants are as the file has them.\n',
    );

    const trail = await get('tenants/globex/audit?event=member&format=jsonl');
    expect(
      trail
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual([
      expect.objectContaining({
        event: 'put-tenant-member',
        outcome: 'succeeded',
        actor: 'caller',
      }),
    ]);

    await get('catalog/entities');
    // An orderly stop stores what was counted.
    await backend.stop();
    backend = start();
    const today = new Date().toISOString().slice(0, 10);
    const usage = await backend.until('the use', () =>
      get(`tenants/globex/usage?from=${today}&to=${today}&format=csv`).catch(
        () => undefined,
      ),
    );
    const [names, values] = usage.split('\n').map(line => line.split(','));
    expect(Number(values[names.indexOf('requests')])).toBeGreaterThan(0);
  });

  it('becomes another one, whose engine goes on; and goes without it', async () => {
    const file = join(folder, 'acme.gz');
    await expect(tenant('export', 'acme', file)).resolves.toContain(
      `The tenant "acme" is in ${file}`,
    );
    await expect(tenant('import', file, '--slug', 'copy')).resolves.toContain(
      'The tenant "copy" is there',
    );
    const acme = await idOf('acme');
    const copy = await idOf('copy');
    expect(await contents(copy)).toEqual(await contents(acme));

    backend.send({
      action: 'feed',
      tenantId: copy,
      entities: entities('two'),
    });
    await backend.until('the changes', () => titled('copy', 'two'));
    expect(await titled('acme', 'one')).toBe(true);

    const before = await contents(copy);
    await query(
      `update tenancy.tenants set deleted_at = now() where tenant_slug = 'acme'`,
    );
    await expect(tenant('purge', 'acme', '--now', '--yes')).resolves.toContain(
      'Nothing is left of the tenant "acme"',
    );
    expect(await contents(copy)).toEqual(before);

    await expect(tenant('import', file)).resolves.toContain(
      'The tenant "acme" is there',
    );
    expect(await idOf('acme')).toBe(acme);
    backend.send({
      action: 'feed',
      tenantId: acme,
      entities: entities('three'),
    });
    await backend.until('the changes', () => titled('acme', 'three'));
  });

  it('goes back to an export of the night, and moves to another deployment', async () => {
    const acme = await idOf('acme');
    await expect(
      tenant('export', '--all', '--to', folder, '--keep', '1'),
    ).resolves.toMatch(/^\d tenants exported to /);
    const [file] = (await readdir(folder)).filter(name =>
      /^acme-\d{8}T\d{6}Z\.gz$/.test(name),
    );
    const night = await contents(acme);
    backend.send({
      action: 'feed',
      tenantId: acme,
      entities: entities('broken'),
    });
    await backend.until('the changes', () => titled('acme', 'broken'));
    await tenant('import', join(folder, file), '--replace', '--yes');
    expect(await contents(acme)).toEqual(night);

    elsewhere = await createTenancyDatabase(databases, id);
    const other = BackendProcess.start({
      baseUrl: `http://127.0.0.1:${await freePort()}`,
      connection: elsewhere,
      config: { shareCommands: true },
    });
    try {
      await expect(tenant('move', 'acme')).resolves.toMatch(
        /^The tenant "acme" is in use at the destination\. It was read-only for [\d.]+ s\.$/m,
      );
      await tenant('purge', 'acme', '--now', '--yes');
      expect(await contents(acme)).toEqual([]);
      await client.end();
      client = new Client(elsewhere);
      await client.connect();
      expect(await contents(acme)).toEqual(night);
      other.send({
        action: 'feed',
        tenantId: acme,
        entities: entities('moved'),
      });
      await other.until('the changes', () => titled('acme', 'moved'));
    } finally {
      await other.kill();
    }
  });
});
