import { spawn, spawnSync } from 'child_process';
import { readFileSync, rmSync, writeFileSync } from 'fs';
import { join } from 'path';
import { text } from 'stream/consumers';
import { CatalogClient } from '@backstage/catalog-client';
import { targetPaths } from '@backstage/cli-common';
import { waitUntil } from '@internal/postgres/testUtils';
import { Clone } from './__fixtures__/clone';
import { firstCommands } from './banner';

const READY = 'Ctrl-C stops everything';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

async function tokenOf(clone: Clone, user: string): Promise<string> {
  const session = await fetch(`${clone.url}/api/auth/${user}/refresh`);
  return (await session.json()).backstageIdentity.token;
}

async function send(
  clone: Clone,
  path: string,
  { headers, ...options }: RequestInit = {},
): Promise<Response> {
  return await fetch(`${clone.url}/api/${path}`, {
    ...options,
    headers: {
      authorization: `Bearer ${await tokenOf(clone, 'guest')}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
}

async function request(clone: Clone, path: string, options?: RequestInit) {
  const response = await send(clone, path, options);
  return await response.json();
}

const DEFAULT_COMPONENTS = ['order-service', 'shop-frontend', 'stock-service'];
const ACME_COMPONENTS = ['order-service', 'route-planner'];

const namesIn = (entities: Array<{ metadata: { name: string } }>) =>
  entities.map(({ metadata }) => metadata.name).sort();

async function components(clone: Clone, tenantSlug?: string) {
  const answer = await send(clone, 'catalog/entities?filter=kind=component', {
    headers: tenantSlug ? { 'x-tenant-slug': tenantSlug } : {},
  });
  return namesIn(await answer.json());
}

describe('npm start', () => {
  let clone: Clone;
  let started: Awaited<ReturnType<Clone['start']>>;

  beforeAll(async () => {
    clone = await Clone.create();
    started = await clone.startByShells(READY);
  });

  afterAll(() => clone.remove());

  /** The client of Backstage, in a frontend of the tenant. */
  async function clientOf(tenantSlug: string): Promise<CatalogClient> {
    const token = await tokenOf(clone, 'guest');
    return new CatalogClient({
      discoveryApi: { getBaseUrl: async id => `${clone.url}/api/${id}` },
      fetchApi: {
        fetch: (input, init) => {
          const headers = new Headers(init?.headers);
          headers.set('authorization', `Bearer ${token}`);
          headers.set('x-tenant-slug', tenantSlug);
          return fetch(input, { ...init, headers });
        },
      },
    });
  }

  it('does not start a second time', async () => {
    const { output, exited } = await clone.start(READY);
    expect(output).toMatch(new RegExp(`^Port ${clone.port} is taken.*\n$`));
    expect(await exited).toBe(1);
  });

  it('serves two tenants, each with its samples', async () => {
    expect(await components(clone)).toEqual(DEFAULT_COMPONENTS);
    const client = await clientOf('acme');
    const { items } = await client.getEntities({
      filter: { kind: 'component' },
    });
    expect(namesIn(items)).toEqual(ACME_COMPONENTS);
    await expect(
      client.getEntityByRef('component:default/shop-frontend'),
    ).resolves.toBeUndefined();
    const planner = await client.getEntityByRef(
      'component:default/route-planner',
    );
    expect(planner?.relations).toContainEqual({
      type: 'providesApi',
      targetRef: 'api:default/tracking',
    });
  });

  it('has nothing that doctor calls a failure, in a shell with the variables of the README', async () => {
    const page = readFileSync(
      targetPaths.resolveRoot('packages/backend/README.md'),
      'utf8',
    );
    const commands = [
      ...page.match(/^ {4}export .*$/gm)!,
      `cd ${targetPaths.rootDir}`,
      `npm run -s migrate:doctor -- --config ${clone.folder}/app-config.yaml`,
    ];
    const shell = spawn('sh', ['-c', commands.join('\n')], {
      cwd: clone.folder,
    });
    const found = await text(shell.stdout);
    expect(found).toContain('ok       isolation');
    expect(found).not.toContain('FAILURE');
  });

  it('buries its last words neither with requests nor with what comes again and again', async () => {
    await components(clone, 'acme');
    // By then the search has made its index.
    await waitUntil('an answer of the search', async () => {
      const { results } = await request(clone, 'search/query?term=orders');
      return results.length > 0;
    });
    const [, after] = started.printed().split(READY);
    const unasked = after
      .split('\n')
      .filter(line => !/Issuing token|Search request received/.test(line));
    expect(unasked.join('\n').trim()).toBe('and keeps the data.');
  });

  it.each([
    ['acme', 'route-planner'],
    ['initech', 'tps-reports'],
  ])('has a cluster with a pod in the tenant %s', async (slug, name) => {
    const headers = { 'x-tenant-slug': slug };
    const path = `catalog/entities/by-name/component/default/${name}`;
    let pods = '';
    await waitUntil(`the pods of ${slug}`, async () => {
      const entity = await request(clone, path, { headers });
      const found = await send(clone, `kubernetes/services/${name}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ entity }),
      });
      pods = await found.text();
      return pods.includes('"pods"');
    });
    expect(new Set(pods.match(/[a-z-]+-0(?=")/g))).toEqual(
      new Set([`${name}-0`]),
    );
  });

  it.each([
    ['anna', 'acme', ACME_COMPONENTS, 'initech'],
    ['peter', 'initech', ['tps-reports'], 'acme'],
  ])(
    'lets %s into the tenant %s, as its member, and into no other',
    async (user, own, expected, foreign) => {
      const authorization = `Bearer ${await tokenOf(clone, user)}`;
      const ask = (tenantSlug: string) =>
        send(clone, 'catalog/entities?filter=kind=component', {
          headers: { authorization, 'x-tenant-slug': tenantSlug },
        });
      expect(namesIn(await (await ask(own)).json())).toEqual(expected);
      const refused = await ask(foreign);
      expect([refused.status, await refused.text()]).toEqual([
        403,
        '{"error":"Invalid tenant"}',
      ]);
    },
  );

  (hasCurl ? describe : describe.skip)('on a machine with curl', () => {
    it('has printed requests that work', async () => {
      const commands = firstCommands({
        baseUrl: clone.url,
        tenancy: { enabled: true },
      });
      const shell = spawn('sh', ['-c', commands.join('\n')]);
      const [one, other, ...mockup] = (await text(shell.stdout)).split('\n');
      expect(namesIn(JSON.parse(one))).toEqual(DEFAULT_COMPONENTS);
      expect(namesIn(JSON.parse(other))).toEqual(ACME_COMPONENTS);
      expect(JSON.parse(mockup.join(''))).toMatchObject({
        name: 'My first mockup',
      });
    });
  });

  it('ends where npm is killed, and its shell is not', async () => {
    started.child.kill('SIGKILL');
    expect(await clone.isQuiet()).toBe(true);
  });
});

describe('the data folder of npm start', () => {
  let clone: Clone;

  beforeAll(async () => {
    clone = await Clone.create();
  });

  afterAll(() => clone.remove());

  it('is kept, gets tenants if it was begun without, and they stay as they were left', async () => {
    const first = await clone.start(READY, { MULTI_TENANCY_ENABLED: 'false' });
    expect(first.output).toContain(clone.dataFolder);
    // Whatever a request says.
    expect(await components(clone, 'nobody')).toEqual(DEFAULT_COMPONENTS);
    const { id } = await request(clone, 'mockup/mockups', {
      method: 'POST',
      body: JSON.stringify({ name: 'Kept' }),
    });
    first.child.kill('SIGINT');
    expect(await first.exited).toBe(0);
    expect(await clone.isQuiet()).toBe(true);

    const second = await clone.start(READY);
    expect(second.output).toContain(
      'is that of the default tenant from now on',
    );
    expect(second.output).toContain(`${clone.url}/api/tenants`);
    const kept = await request(clone, `mockup/mockups/${id}`);
    expect(kept).toMatchObject({ name: 'Kept', owner: 'user:default/guest' });
    expect(await components(clone)).toEqual(DEFAULT_COMPONENTS);
    expect(await components(clone, 'acme')).toEqual(ACME_COMPONENTS);

    const created = await send(clone, 'tenants', {
      method: 'POST',
      body: JSON.stringify({ tenant_slug: 'globex', tenant_name: 'Globex' }),
    });
    expect(created.status).toBe(201);
    const deleted = await send(clone, 'tenants/acme', { method: 'DELETE' });
    expect(deleted.status).toBe(204);
    second.child.kill('SIGKILL');
    expect(await clone.isQuiet()).toBe(true);

    const third = await clone.start(READY);
    expect(third.output).not.toContain('from now on');
    expect(await components(clone)).toEqual(DEFAULT_COMPONENTS);
    expect(await components(clone, 'globex')).toEqual([]);
    const gone = await send(clone, 'catalog/entities', {
      headers: { 'x-tenant-slug': 'acme' },
    });
    expect(gone.status).toBe(403);
    third.child.kill('SIGTERM');
    expect(await third.exited).toBe(0);
    expect(await clone.isQuiet()).toBe(true);
  });
});

describe('npm start without what it needs', () => {
  let clone: Clone;

  beforeAll(async () => {
    clone = await Clone.create();
  });

  afterAll(() => clone.remove());

  it('ends where npm has ended before it is loaded', async () => {
    const { output } = await clone.startOrphaned(READY);
    expect(output).not.toContain(READY);
    expect(await clone.isQuiet()).toBe(true);
  });

  it('does not start with a user whom row-level security does not bind', async () => {
    const local = join(clone.folder, 'app-config.local.yaml');
    const user = { user: '${POSTGRES_USER}', password: '${POSTGRES_PASSWORD}' };
    writeFileSync(
      local,
      JSON.stringify({ tenancy: { database: { connection: user } } }),
    );
    const { output, exited } = await clone.start(READY);
    rmSync(local);
    expect(output).toMatch(
      /TenancyStartupError: .* not served:\n- .*superuser/,
    );
    expect(output).not.toContain('Plugin initialization started');
    expect(await exited).toBe(1);
  });

  it('asks for a user where the server is one’s own', async () => {
    const { output, exited } = await clone.start(READY, {
      POSTGRES_HOST: 'db.example',
    });
    expect(output).toMatch(
      /^With tenants, db\.example .* TENANCY_POSTGRES_PASSWORD\. Or do without tenants: MULTI_TENANCY_ENABLED=false\n$/,
    );
    expect(await exited).toBe(1);
  });
});

describe('npm start in a clone with a broken data folder', () => {
  it('says what is wrong, and starts nothing', async () => {
    const clone = await Clone.create();
    writeFileSync(clone.dataFolder, '');
    const { output, exited } = await clone.start(READY);
    expect(output).toMatch(/^.*\.postgres can't be used: EEXIST.*\n$/);
    expect(await exited).toBe(1);
    rmSync(clone.dataFolder);
    await clone.remove();
  });
});
