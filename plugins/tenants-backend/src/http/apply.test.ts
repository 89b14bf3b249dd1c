import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { applyTenants } from 'backstage-catalog-tenancy-cli';
import { TenantsClient } from 'backstage-plugin-tenants-common';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CI,
  engines,
  startTenantsBackend,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const FILE = `
tenants:
  - slug: acme
    name: Acme
    limits: { max_entities: 100, requests_per_second: 5, burst: 9 }
    members:
      User:default/Jane: admin
      group:default/devs: member
    sources:
      catalog:
        locations: [{ type: url, target: https://git.example.com/a.yaml }]
    sign_in:
      issuer: https://id.example.com
      client_id: portal
      client_secret: \${ACME_SECRET}
      allowed_domains: [Acme.com]
    shares:
      - { filter: [kind=template], targets: [globex] }
  - slug: globex
    name: Globex
`;

describe.each(databases.eachSupportedId())('tenant apply on %s', id => {
  let database: TenancyDatabase;
  let backend: TenantsBackend;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'apply-'));
    database = await TenancyDatabase.create(databases, id);
    backend = await startTenantsBackend({
      pool: database.createPool(),
      features: [engines()],
    });
  });
  afterAll(async () => {
    await backend?.stop();
    await database?.close();
    await rm(folder, { recursive: true });
  });

  /** Ends when it has said that a change is done. */
  let endsEarly = false;

  async function apply(text: string, ...options: string[]) {
    const file = join(folder, 'tenants.yaml');
    await writeFile(file, text);
    let output = '';
    const stream = {
      write: (chunk: string) => {
        if (endsEarly && chunk.startsWith('done: ')) {
          throw new Error('Ended');
        }
        output += chunk.replaceAll(folder, '');
        return true;
      },
    };
    const exitCode = await applyTenants(['-f', file, ...options], {
      stdout: stream,
      stderr: stream,
      env: {
        TENANCY_URL: `http://localhost:${backend.port()}/`,
        TENANCY_TOKEN: mockCredentials.service
          .header({
            onBehalfOf: mockCredentials.service(CI),
            targetPluginId: 'tenants',
          })
          .replace('Bearer ', ''),
      },
    });
    return { exitCode, output };
  }
  const planOf = (text: string) => apply(text, '--exit-code');

  it('says in its help what is typed', async () => {
    const { output } = await apply(FILE, '--help');
    expect(output).toContain(
      'Usage: npx backstage-catalog-tenancy-cli tenant apply [options]',
    );
  });

  it('makes tenants as the file has them, once', async () => {
    const plan = await planOf(FILE);
    expect(plan).toEqual({
      exitCode: 2,
      output: `acme
  + tenant "Acme"
  + sign-in by https://id.example.com
  + member user:default/jane as admin
  + member group:default/devs as member
  + sources
  + share of kind=template with globex
globex
  + tenant "Globex"
`,
    });
    expect((await backend.admin.get('/acme')).status).toBe(404);
    const done = await apply(FILE);
    expect(done.output).toContain('done: acme: + share of kind=template');
    expect(done.exitCode).toBe(0);
    expect((await backend.admin.get('/acme')).body).toMatchObject({
      max_entities: 100,
      burst: 9,
    });
    await expect(planOf(FILE)).resolves.toEqual({
      exitCode: 0,
      output: 'All tenants are as the file has them.\n',
    });
  });

  it('changes and removes what is not as in the file, and leaves the rest', async () => {
    await apply(FILE);
    await apply('tenants: [{ slug: other, name: Other }]');
    const changed = `
tenants:
  - slug: acme
    name: Acme Inc
    limits: { burst: null }
    members: { user:default/jane: admin, user:default/joe: viewer }
    sign_in: null
    shares:
      - { filter: [kind=template], targets: [globex], position: 5 }
      - { filter: [kind=api], targets: all }
`;
    const done = await apply(changed);
    expect(done.output).toContain(`acme
  ~ tenant_name "Acme" -> "Acme Inc", burst 9 -> null
  - sign-in
  + member user:default/joe as viewer
  - member group:default/devs
  ~ share of kind=template with globex
  + share of kind=api with all
`);
    expect(done.exitCode).toBe(0);
    await expect(planOf(changed)).resolves.toMatchObject({ exitCode: 0 });
    const { body } = await backend.admin.get('/acme/catalog-config');
    expect(body.catalog.locations).toHaveLength(1);
    expect((await backend.admin.get('/other')).status).toBe(200);
  });

  it('says how far it is where the comparison takes longer than two seconds', async () => {
    let now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now);
    const get = jest.spyOn(TenantsClient.prototype, 'getTenant');
    get.mockImplementation(async () => {
      now += 1_500;
      return undefined;
    });
    const { output } = await planOf(FILE).finally(() => {
      clock.mockRestore();
      get.mockRestore();
    });
    expect(output).toMatch(/^2 of 2 tenants compared\nacme\n/);
  });

  it('goes on where it was ended, and does nothing twice', async () => {
    const file = FILE.replace(/acme/gi, 'initech').replaceAll(
      'globex',
      'hooli',
    );
    const left = async () =>
      (await planOf(file)).output.match(/^ {2}[+~-] /gm)?.length ?? 0;
    const all = await left();
    expect(all).toBe(7);
    endsEarly = true;
    for (let done = 1; done <= all; done += 1) {
      expect((await apply(file)).exitCode).toBe(1);
      expect(await left()).toBe(all - done);
    }
    endsEarly = false;
    await expect(planOf(file)).resolves.toMatchObject({ exitCode: 0 });
  });

  it.each([
    ['tenants: [{ slug: acme, name: "" }]', /tenants\[0\]\.name must be/],
    [
      'tenants: [{ slug: acme, name: Acme, shares: [{ filter: [kind=api], targets: [nowhere] }] }]',
      /^Not done: acme: \+ share .*\nInvalid share: targets must be/m,
    ],
  ])('fails with a sentence: %s', async (text, message) => {
    const failed = await apply(text);
    expect(failed.output).toMatch(message);
    expect(failed.exitCode).toBe(1);
  });
});
