import { spawn, spawnSync } from 'child_process';
import { rmSync, writeFileSync } from 'fs';
import { join } from 'path';
import { text } from 'stream/consumers';
import { CatalogClient } from '@backstage/catalog-client';
import { Clone, Started } from './__fixtures__/clone';
import { firstCommands } from './banner';

jest.setTimeout(120_000);

const READY = 'Ctrl-C stops everything';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

async function guestToken(clone: Clone): Promise<string> {
  const session = await fetch(`${clone.url}/api/auth/guest/refresh`);
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
      authorization: `Bearer ${await guestToken(clone)}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
}

async function request(clone: Clone, path: string, options?: RequestInit) {
  const response = await send(clone, path, options);
  return await response.json();
}

describe('npm start', () => {
  let clone: Clone;

  beforeAll(async () => {
    clone = await Clone.create();
  });

  afterAll(() => clone.remove());

  it('serves, stops when asked to, and keeps the data', async () => {
    const first = await clone.start(READY);
    expect(first.output).toContain(clone.dataFolder);
    const { id } = await request(clone, 'mockup/mockups', {
      method: 'POST',
      body: JSON.stringify({ name: 'Kept' }),
    });
    first.child.kill('SIGINT');
    expect(await first.exited).toBe(0);
    expect(await clone.isQuiet()).toBe(true);

    const second = await clone.start(READY);
    const kept = await request(clone, `mockup/mockups/${id}`);
    expect(kept).toMatchObject({ name: 'Kept', owner: 'user:default/guest' });
    second.child.kill('SIGKILL');
    expect(await clone.isQuiet()).toBe(true);
  });

  describe('once it runs', () => {
    beforeAll(async () => {
      await clone.start(READY);
    });

    it('does not start a second time', async () => {
      const { output, exited } = await clone.start(READY);
      expect(output).toMatch(new RegExp(`^Port ${clone.port} is taken.*\n$`));
      expect(await exited).toBe(1);
    });

    (hasCurl ? describe : describe.skip)('on a machine with curl', () => {
      it('has printed requests that work', async () => {
        const script = firstCommands(clone.url).join('\n');
        const shell = spawn('sh', ['-c', script]);
        const answer = JSON.parse(await text(shell.stdout));
        expect(answer).toMatchObject({ name: 'My first mockup' });
      });
    });
  });
});

describe('npm start with MULTI_TENANCY_ENABLED=true', () => {
  const FLAG = { MULTI_TENANCY_ENABLED: 'true' };
  let clone: Clone;

  beforeAll(async () => {
    clone = await Clone.create();
  });

  afterAll(() => clone.remove());

  const list = (tenantSlug?: string) =>
    send(clone, 'catalog/entities', {
      headers: tenantSlug ? { 'x-tenant-slug': tenantSlug } : {},
    });

  /** The client of Backstage, in a frontend of the tenant. */
  async function clientOf(tenantSlug: string): Promise<CatalogClient> {
    const token = await guestToken(clone);
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

  async function stop({ child, exited }: Started): Promise<void> {
    child.kill('SIGINT');
    await exited;
    expect(await clone.isQuiet()).toBe(true);
  }

  it('sets up an empty folder, passes the smoke tests, and keeps its tenants', async () => {
    const first = await clone.start(READY, FLAG);
    expect(first.output).toContain(`${clone.url}/api/tenants`);

    const existing = await list('default');
    expect(existing.status).toBe(200);
    expect(await existing.json()).toEqual([]);

    expect((await list('acme')).status).toBe(403);
    const created = await send(clone, 'tenants', {
      method: 'POST',
      body: JSON.stringify({ tenant_slug: 'acme', tenant_name: 'Acme' }),
    });
    expect(created.status).toBe(201);
    expect(await (await list('acme')).json()).toEqual([]);

    const client = await clientOf('acme');
    await expect(client.getEntities()).resolves.toEqual({ items: [] });
    await expect(
      client.getEntityByRef('component:default/shop-frontend'),
    ).resolves.toBeUndefined();
    await expect(
      client.getEntitiesByRefs({ entityRefs: ['user:default/guest'] }),
    ).resolves.toEqual({ items: [undefined] });
    await stop(first);

    const second = await clone.start(READY, FLAG);
    expect((await list('acme')).status).toBe(200);
    await stop(second);

    // As before, whatever a request says.
    const third = await clone.start(READY);
    expect((await list('nobody')).status).toBe(200);
    await stop(third);
  });

  it('does not start with a user whom row-level security does not bind', async () => {
    const local = join(clone.folder, 'app-config.local.yaml');
    const user = { user: '${POSTGRES_USER}', password: '${POSTGRES_PASSWORD}' };
    writeFileSync(
      local,
      JSON.stringify({ tenancy: { database: { connection: user } } }),
    );
    const { output, exited } = await clone.start(READY, FLAG);
    rmSync(local);
    expect(output).toMatch(
      /TenancyStartupError: .* not served:\n- .*superuser/,
    );
    expect(output).not.toContain('Plugin initialization started');
    expect(await exited).toBe(1);
  });

  it('asks for a user where the server is one’s own', async () => {
    const { output, exited } = await clone.start(READY, {
      ...FLAG,
      POSTGRES_HOST: 'db.example',
    });
    expect(output).toMatch(
      /^With MULTI_TENANCY_ENABLED=true, db\.example .* TENANCY_POSTGRES_PASSWORD\n$/,
    );
    expect(await exited).toBe(1);
  });
});

describe('npm start in a clone with a broken data folder', () => {
  it('says what is wrong, and starts nothing', async () => {
    const clone = await Clone.create();
    writeFileSync(clone.dataFolder, '');
    const { output, exited } = await clone.start(READY);
    expect(output).toBe(`${clone.dataFolder} is not a folder\n`);
    expect(await exited).toBe(1);
    rmSync(clone.dataFolder);
    await clone.remove();
  });
});
