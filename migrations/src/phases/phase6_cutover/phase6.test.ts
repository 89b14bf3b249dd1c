import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { MigrationSession } from '../../session/MigrationSession';
import { smokeTests } from './10_smoke_tests';
import { cutoverChecklist } from './checklist';
import {
  describeCutover,
  listen,
  readState,
  runCutover,
} from './__testUtils__/cutover';
import type { TestApplication } from './__testUtils__/TestApplication';

const databases = createTestDatabases();

const TOKEN = 'the-token-of-the-operator';

describe.each(databases.eachSupportedId())('phase 6 on %s', id => {
  const suite = describeCutover(databases, id);
  let database: CatalogDatabase;
  let application: TestApplication;
  let baseUrl: string;
  beforeEach(() => {
    database = suite.database();
    application = suite.application();
    baseUrl = suite.baseUrl();
  });

  it('runs the three smoke tests, and remembers when they succeeded', async () => {
    const { info, warn, reporter } = listen();
    await runCutover(database, { baseUrl }, { reporter });
    expect(warn).toEqual([]);
    expect(info).toEqual([
      'Multi-tenancy is on: a slug that no tenant has is refused.',
      expect.stringMatching(/^\(1\) .*: 190 of 190 live entities compared/),
      expect.stringMatching(
        /^\(2\) .*: "smoke-test-[0-9a-f]{12}" is created\.$/,
      ),
      expect.stringMatching(/^\(3\) .*: none are listed/),
      expect.stringMatching(/^Look-up of an entity.*expected: under 20 ms/),
    ]);
    await expect(readState(database)).resolves.toEqual({
      smoke_tests: {
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        baseUrl,
        lookupMilliseconds: expect.any(Number),
        results: info.slice(0, 4).map(line => {
          const [test, outcome] = line.split(': ');
          return { test, outcome };
        }),
      },
    });
  });

  it('sends what the specification says', async () => {
    await runCutover(database, { baseUrl });
    const sent = application.received.map(
      ({ method, path, tenant }) => `${method} ${path} ${tenant ?? '-'}`,
    );
    const slug = application.received[2].body.tenant_slug;
    expect(slug).toMatch(/^smoke-test-[0-9a-f]{12}$/);
    expect(sent).toEqual([
      expect.stringMatching(/^GET \/api\/catalog\/entities smoke-test-/),
      'GET /api/catalog/entities default',
      'POST /api/tenants -',
      `GET /api/catalog/entities ${slug}`,
      `DELETE /api/tenants/${slug} -`,
    ]);
    expect(sent[0]).not.toContain(slug);
  });

  it('leaves nothing of its tenant, for which no engine makes tables', async () => {
    await runCutover(database, { baseUrl });
    expect(application.received[2].body).toMatchObject({ engine: false });
    const { rows } = await database.client.query(
      `select tenant_slug from tenants where tenant_slug like 'smoke-test-%'`,
    );
    expect(rows).toEqual([]);
  });

  it('sends the token with each request', async () => {
    await runCutover(database, { baseUrl, token: `${TOKEN}\n` });
    expect(application.received.map(r => r.authorization)).toEqual(
      Array(5).fill(`Bearer ${TOKEN}`),
    );
  });

  it('can be repeated, and undone', async () => {
    await runCutover(database, { baseUrl });
    await runCutover(database, { baseUrl });
    expect(Object.keys(await readState(database))).toEqual(['smoke_tests']);
    await runCutover(database, undefined, { direction: 'down' });
    await runCutover(database, undefined, { direction: 'down' });
    await expect(readState(database)).resolves.toEqual({});
  });

  it('is the phase after the fifth, with an undo of its own', async () => {
    const settings = { cutover: { baseUrl } };
    await database.migrate(migration => migration.runPhase(6), { settings });
    const completed = () =>
      database.migrate(migration => migration.completedPhase());
    await expect(completed()).resolves.toBe(6);
    await database.migrate(migration => migration.undoFrom(smokeTests));
    await expect(completed()).resolves.toBe(5);
    await expect(readState(database)).resolves.toEqual({});
  });

  it('tests the application each time it is asked for, and keeps its record whatever comes out', async () => {
    const settings = { cutover: { baseUrl } };
    const run = () =>
      database.migrate(migration => migration.runPhase(6), { settings });
    await expect(run()).resolves.toBe(true);
    const first = await readState(database);
    const requests = application.received.length;
    await expect(run()).resolves.toBe(true);
    expect(application.received).toHaveLength(2 * requests);
    application.flag = false;
    await expect(run()).rejects.toThrow(/MULTI_TENANCY_ENABLED/);
    await database.migrate(async migration => {
      expect(await migration.completedPhase()).toBe(6);
      expect(await readState(database)).toEqual({
        smoke_tests: {
          ...first.smoke_tests,
          at: expect.any(String),
          results: expect.any(Array),
          lookupMilliseconds: expect.any(Number),
        },
      });
      await migration.undoFrom(smokeTests);
    });
  });

  it('waits for an application that is starting', async () => {
    await application.stop();
    const port = Number(new URL(baseUrl).port);
    const waits: string[] = [];
    await runCutover(
      database,
      { baseUrl },
      {
        reporter: {
          ...listen().reporter,
          info: message => {
            if (message.startsWith('Waiting')) {
              waits.push(message);
              application.start(port);
            }
          },
        },
      },
    );
    expect(waits).toEqual([
      expect.stringMatching(
        /^Waiting for the application: GET .* \(attempt 1\)$/,
      ),
    ]);
    expect(await readState(database)).toHaveProperty('smoke_tests');
  });

  it('prints the requests as comments in a dry run, and sends none', async () => {
    let script = '';
    await runCutover(
      database,
      { baseUrl, token: TOKEN },
      {
        print: text => {
          script += text;
        },
      },
    );
    const preamble = `${MigrationSession.settings('tenancy')};`;
    expect(script.startsWith(preamble)).toBe(true);
    const lines = script.slice(preamble.length).trim().split('\n');
    expect(lines.filter(line => line && !line.startsWith('-- '))).toEqual([]);
    expect(script).toMatch(
      /^-- \(1\) GET http.*\/api\/catalog\/entities with X-Tenant-Slug: default lists/m,
    );
    expect(script).toMatch(
      /^-- \(2\) POST http.*\/api\/tenants with \{"tenant_slug"/m,
    );
    expect(script).toMatch(
      /^-- \(3\) GET http.*X-Tenant-Slug: smoke-test lists nothing/m,
    );
    expect(script).toMatch(
      /^-- DELETE http.*\/api\/tenants\/smoke-test deletes/m,
    );
    expect(script).not.toContain(TOKEN);
    expect(application.received).toEqual([]);
    await database.client.query(script);
    await expect(readState(database)).resolves.toEqual({});
  });

  it('has a checklist whose queries run', async () => {
    const checklist = cutoverChecklist({ schema: 'tenancy' });
    const statements = checklist
      .split('\n')
      .filter(line => /^ {4,}/.test(line) && !/^ +grep /.test(line))
      .join('\n')
      .split(/;\n/);
    expect(statements.length).toBeGreaterThan(8);
    for (const statement of statements) {
      await database.client.query(statement);
    }
    const swap = statements.find(text => text.includes('as swapped'))!;
    await expect(database.client.query(swap)).resolves.toMatchObject({
      rows: [{ swapped: expect.any(Date) }],
    });
    await database.client.query('reset row_security');
    expect(Math.max(...checklist.split('\n').map(l => l.length))).toBeLessThan(
      140,
    );
    for (const topic of [
      'npx backstage-catalog-tenancy-migrations cleanup',
      'permission denied for table',
      '24 to 48 hours',
    ]) {
      expect(checklist).toContain(topic);
    }
  });

  it('has a checklist that switches the flag off before the tables go', () => {
    const goingBack = cutoverChecklist({ schema: 'tenancy' })
      .split('Going back')[1]
      .replace(/\s+/g, ' ');
    expect(goingBack).toMatch(
      /The tables too, until the cleanup: set MULTI_TENANCY_ENABLED to false, restart every instance of the application, and only then run "npx backstage-catalog-tenancy-migrations rollback"\./,
    );
  });
});
