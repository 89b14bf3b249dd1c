import { availableVersions } from '@internal/postgres';
import { phases } from '../phases';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { CatalogServer } from './__testUtils__/CatalogServer';
import { Operator } from './__testUtils__/Operator';
import { compare } from './compare';
import { readEntities } from './rowTexts';
import { sizesFromEnvironment } from './sizes';
import { Traffic } from './Traffic';

// Writers run from before the first phase to the end without a pause. More of
// them, for longer:
//
//   LIVE_TRAFFIC_WRITERS=8 LIVE_TRAFFIC_SEEDED=20000 LIVE_TRAFFIC_TRANSACTIONS=500 \
//     CI=1 npx backstage-cli repo test migrations/src/liveTraffic/liveTraffic
//
// A run that failed is repeated with the LIVE_TRAFFIC_SEED that it printed.

const sizes = sizesFromEnvironment();

const UP = [
  ['phase1', '--backup-completed', '--allow-missing', 'pg_cron'],
  ['phase2'],
  ['phase3'],
  ['phase4'],
  ['phase5'],
].slice(0, phases.length);
const AGAIN = [['rollback'], ['phase5'], ['rollback'], ['phase5']];

describe.each(availableVersions())('live traffic on PostgreSQL %s', version => {
  let server: CatalogServer;
  beforeEach(async () => {
    server = await CatalogServer.start(version, sizes.seeded);
  });
  afterEach(() => server.stop());

  it('goes through all phases, back and forward again', async () => {
    const operator = new Operator(() => server.url);
    const traffic = new Traffic(
      await server.query(readEntities),
      server.oldApplication(),
      sizes,
    );
    traffic.start();
    await traffic.committed();
    for (const args of [...UP, ...(phases.length >= 5 ? AGAIN : [])]) {
      const [command] = args;
      traffic.waits.during = command;
      await operator.run(args);
      traffic.waits.during = `after ${command}`;
      await traffic.committed();
      if (command === 'phase3') {
        await traffic.deploy(await server.newApplication());
      }
    }
    const record = await traffic.stop();
    // eslint-disable-next-line no-console
    console.info(traffic.summary());
    expect(traffic.failureSummary()).toEqual([]);
    await expect(
      server.query(client =>
        compare(client, record, { tenantId: DEFAULT_TENANT_ID }),
      ),
    ).resolves.toEqual([]);
  });
});
