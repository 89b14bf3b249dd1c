import { availableVersions } from '@internal/postgres';
import type { Client } from 'pg';
import { CatalogServer } from './__testUtils__/CatalogServer';
import { LiveTraffic, shareOf } from './__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from './__testUtils__/sizes';
import type { TrafficSizes } from './__testUtils__/sizes';

// That the live-traffic tests would notice: without any migration, the copies of the writers
// equal the tables, and the comparison finds every other change to a row.

// What is tested here is the tests, on one version.
const versions = availableVersions().slice(-1);

const sizes: TrafficSizes = {
  ...sizesFromEnvironment({}),
  longestHoldMs: 300,
};

// An entity of the seed that no writer touches.
const ONE = `(select entity_id from entities
  where entity_name ~ '^service-' and ${shareOf(sizes)} order by 1 limit 1)`;

function startTraffic(server: CatalogServer): Promise<LiveTraffic> {
  return server.query(client =>
    LiveTraffic.start(client, [server.oldApplication()], sizes),
  );
}

describe.each(versions)('live traffic on PostgreSQL %s', version => {
  let server: CatalogServer;
  let traffic: LiveTraffic;

  /** What a comparison says about a change that is taken back afterwards. */
  async function differencesAfter(change: string): Promise<string[]> {
    return server.query(async (client: Client) => {
      await client.query('begin');
      await client.query(change);
      const differences = await traffic.differences(client);
      await client.query('rollback');
      return differences;
    });
  }

  beforeAll(async () => {
    server = await CatalogServer.start(version, sizes.seeded);
  });
  afterAll(() => server.stop());

  it('leaves the same rows in the tables and their copies', async () => {
    traffic = await startTraffic(server);
    await traffic.committed(100);
    await traffic.stop();
    expect(traffic.failureSummary()).toEqual([]);
    await expect(
      server.query(client => traffic.differences(client)),
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
      [/^entities: unexpected .*,a:default\/b,/],
    ],
    [
      'a relation that is there twice',
      `insert into relations select * from relations
        where originating_entity_id = ${ONE} and type = 'ownedBy'`,
      [/^relations: unexpected .*,ownedBy,/],
    ],
    [
      'a value within JSON',
      `update entities set final_entity = jsonb_set(final_entity, '{metadata,n}', '5.0')
        where entity_id = ${ONE}`,
      [/^entities: missing /, /^entities: unexpected .*5\.0/],
    ],
    [
      'a microsecond',
      `update entities set created_at = created_at + interval '1 microsecond'
        where entity_id = ${ONE}`,
      [/^entities: missing /, /^entities: unexpected /],
    ],
    [
      'an empty text instead of null',
      `update entities set stitch_ticket = '' where entity_id = ${ONE}`,
      [/^entities: missing /, /^entities: unexpected /],
    ],
    [
      'a column of another type',
      `alter table refresh_state alter column attempts type bigint`,
      [/new column attempts bigint$/, /no column attempts integer$/],
    ],
  ])('is told from %s', async (_, change, expected) => {
    const differences = await differencesAfter(change);
    expect(differences).toEqual(
      expected.map(pattern => expect.stringMatching(pattern)),
    );
  });
});
