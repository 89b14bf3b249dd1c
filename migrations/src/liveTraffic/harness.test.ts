import { availableVersions } from '@internal/postgres';
import { waitUntil } from '@internal/postgres/testUtils';
import type { Client } from 'pg';
import { CatalogServer } from './__testUtils__/CatalogServer';
import { compare } from './__testUtils__/compare';
import { isDeletable, SHARED_REFS } from './__testUtils__/expectedRows';
import type { TrafficRecord } from './__testUtils__/expectedRows';
import { LiveTraffic } from './__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from './__testUtils__/sizes';
import type { TrafficSizes } from './__testUtils__/sizes';

// That the live-traffic tests would notice: without any migration, what writers
// record equals the rows, and the comparison finds every other change to a row.

// What is tested here is the tests, on one version.
const versions = availableVersions().slice(-1);

const sizes: TrafficSizes = {
  ...sizesFromEnvironment({}),
  longestHoldMs: 300,
};

// The entity of the seed with the most to change, which no writer has as its own.
const ONE = `(select entity_id from entities
  where entity_ref = 'component:default/service-5')`;

function startTraffic(server: CatalogServer): Promise<LiveTraffic> {
  return server.query(client =>
    LiveTraffic.start(client, [server.oldApplication()], sizes),
  );
}

describe.each(versions)('live traffic on PostgreSQL %s', version => {
  let server: CatalogServer;
  let record: TrafficRecord;

  /** What a comparison says about a change that is taken back afterwards. */
  async function differencesAfter(change: string): Promise<string[]> {
    return server.query(async (client: Client) => {
      await client.query('begin');
      await client.query(change);
      const differences = await compare(client, record);
      await client.query('rollback');
      return differences;
    });
  }

  beforeAll(async () => {
    server = await CatalogServer.start(version, sizes.seeded);
  });
  afterAll(() => server.stop());

  it('is recorded row by row', async () => {
    const traffic = await startTraffic(server);
    await traffic.committed(100);
    record = await traffic.stop();
    expect(traffic.failures).toEqual([]);
    await expect(
      server.query(client => compare(client, record)),
    ).resolves.toEqual([]);
  });

  it.each([
    [
      'a row that is gone',
      `delete from refresh_state where entity_id = ${ONE}`,
      [/^refresh_state: missing /],
    ],
    [
      'an entity that is gone with all that hangs on it',
      `delete from entities where entity_id = ${ONE}`,
      [
        /^entities: missing /,
        /^relations: missing /,
        /^relations: missing /,
        /^refresh_state: missing /,
      ],
    ],
    [
      'a row that was added',
      `insert into entities (entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('a:default/b', 'a', 'b', '{}', '')`,
      [/^entities: unexpected .*"a:default\/b"/],
    ],
    [
      'a relation that is there twice',
      `insert into relations select * from relations
        where originating_entity_id = ${ONE} and type = 'ownedBy'`,
      [/^relations: unexpected .*"ownedBy"/],
    ],
    [
      'a value within JSON',
      `update entities set final_entity = jsonb_set(final_entity, '{metadata,n}', '5.0')
        where entity_id = ${ONE}`,
      [/^entities .*: final_entity is .*5\.0.* instead of /],
    ],
    [
      'a microsecond',
      `update entities set created_at = created_at + interval '1 microsecond'
        where entity_id = ${ONE}`,
      [/^entities .*: created_at is /],
    ],
    [
      'an empty text instead of null',
      `update entities set stitch_ticket = '' where entity_id = ${ONE}`,
      [/^entities .*: stitch_ticket is {2}instead of null$/],
    ],
    [
      'a column of another type',
      `alter table refresh_state alter column attempts type bigint`,
      [/no column attempts integer$/, /new column attempts bigint$/],
    ],
  ])('is told from %s', async (_, change, expected) => {
    const differences = await differencesAfter(change);
    expect(differences).toEqual(
      expected.map(pattern => expect.stringMatching(pattern)),
    );
  });
});

describe.each(versions)('live traffic on a broken PostgreSQL %s', version => {
  let server: CatalogServer;
  beforeEach(async () => {
    server = await CatalogServer.start(version, sizes.seeded);
  });
  afterEach(() => server.stop());

  it.each([
    [
      'updates that come to nothing',
      `create function do_nothing() returns trigger language plpgsql
           as 'begin return null; end';
         create trigger do_nothing before update on entities
           for each row execute function do_nothing()`,
      /0 rows instead of 1$/,
    ],
    [
      'rights that are taken away',
      'revoke insert on entities from catalog_application',
      /: 42501 /,
    ],
    [
      'a unique key that lapses',
      'alter table entities drop constraint entities_entity_ref_key',
      /: 42P10 /,
    ],
  ])('notices %s', async (_, change, failure) => {
    const traffic = await startTraffic(server);
    await traffic.committed(5);
    await server.query(client => client.query(change));
    await traffic.committed(30);
    await traffic.stop();
    expect(traffic.failureSummary()).toContainEqual(
      expect.stringMatching(failure),
    );
  });

  it('notices an update of shared rows that is lost', async () => {
    const traffic = await startTraffic(server);
    const loseUpdates = () =>
      server.query(client =>
        client.query(
          `update entities set stitch_ticket = '-100' where entity_ref = any($1)`,
          [SHARED_REFS.filter(ref => !isDeletable(ref))],
        ),
      );
    const lostUpdates = () =>
      server.query(client =>
        client.query(`select from entities where stitch_ticket = '-100'`),
      );
    const lost = await waitUntil('rows that are shared', async () => {
      await traffic.committed(1);
      return (await loseUpdates()).rowCount;
    });
    // Few transactions write these rows.
    await waitUntil('a write of such a row', async () => {
      await traffic.committed(1);
      return (await lostUpdates()).rowCount !== lost;
    });
    const { contradictions } = await traffic.stop();
    expect(contradictions).toContainEqual(
      expect.stringMatching(/an update was lost$/),
    );
  });
});
