import { mkdir } from 'node:fs/promises';
import type { Entity } from '@backstage/catalog-model';
import { stringifyEntityRef } from '@backstage/catalog-model';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { adopt } from 'backstage-catalog-tenancy-migrations';
import { allowLogin } from '@internal/catalog-testing/tenancyDatabase';
import { LiveCatalog } from './LiveCatalog';
import { LiveDatabase } from './LiveDatabase';
import { runCommand } from './migrations';
import { carriedVersions, differences, faults } from './sides';
import type { LiveSizes } from './sizes';
import { LiveSources } from './LiveSources';

/** An operator at work on the database of a catalog whose engine never stops. */
export class Journey {
  static async start(
    databases: TestDatabases,
    id: TestDatabaseId,
    sizes: LiveSizes,
  ): Promise<Journey> {
    const database = await LiveDatabase.create(databases, id);
    const catalog = await LiveCatalog.start(database);
    await mkdir(catalog.folder, { recursive: true });
    const journey = new Journey(
      database,
      catalog,
      new LiveSources(catalog, sizes),
    );
    journey.live.start();
    await journey.live.acted(5);
    return journey;
  }

  private constructor(
    readonly database: LiveDatabase,
    readonly catalog: LiveCatalog,
    readonly live: LiveSources,
  ) {}

  /** Runs a command to its end while the sources act. */
  async run(...args: string[]): Promise<string> {
    return runCommand(this.database.url, args);
  }

  /** Adopts the catalog, as often as one likes. */
  async adopt(): Promise<void> {
    await adopt({ connection: this.database.admin });
  }

  /** Replaces the backend by one that knows tenants, or by the stock catalog. */
  async deploy(enabled: boolean): Promise<void> {
    if (enabled) {
      await this.database.use(allowLogin);
      // The backend looks at the tables with the login of the stock catalog.
      await this.database.query(
        `grant portal_admin to "${this.database.engine.user}" with inherit false`,
      );
    }
    await this.catalog.deploy(enabled, async change => {
      await this.live.pause();
      change();
      this.live.start();
    });
  }

  /**
   * Makes sure that nothing is wrong, first while the sources act, and then at rest.
   *
   * @throws Error that lists what is wrong
   */
  async expectEqual(after: string): Promise<void> {
    const problems = await this.problemsAtRest();
    if (problems.length > 0) {
      throw new Error(`After ${after}:\n${problems.join('\n')}`);
    }
  }

  /** What is wrong while the sources act, which must be nothing at any moment. */
  async problems(): Promise<string[]> {
    return [
      ...this.catalog.log.problems,
      ...(await differences(this.database, false)),
    ];
  }

  /**
   * Lets every source act once more, stops them, waits for the engine, and lists
   * what is wrong then. Starts them again.
   */
  async problemsAtRest(): Promise<string[]> {
    const moving = await this.problems();
    await this.live.acted();
    await this.live.pause();
    await this.live.settled();
    const found = [
      ...moving,
      ...this.catalog.log.problems,
      ...(await differences(this.database, true)),
      ...(await this.wrongEntities()),
      ...(await this.wrongFaults()),
    ];
    this.live.start();
    this.catalog.log.problems.length = 0;
    return [...new Set(found)];
  }

  async stop(): Promise<void> {
    await this.live.pause();
    await this.catalog.stop();
  }

  private async wrongEntities(): Promise<string[]> {
    const expected = this.live.expected({ convertible: true });
    const shown = await carriedVersions(this.database);
    return [
      ...wrongVersions('the tables', shown, expected),
      ...(this.catalog.enabled
        ? wrongVersions('the answers', await this.answers(), expected)
        : []),
    ];
  }

  /** The answers that the default tenant's users get. */
  private async answers(): Promise<Record<string, number>> {
    const { body } = await this.catalog.api.get('/entities').expect(200);
    return Object.fromEntries(
      (body as Entity[])
        .filter(({ kind }) => kind !== 'Location')
        .map(entity => [
          stringifyEntityRef(entity),
          Number(entity.spec?.version),
        ]),
    );
  }

  /** Whatever cannot be converted is reported, and nothing else. */
  private async wrongFaults(): Promise<string[]> {
    const expected = Object.keys(this.live.expected({ convertible: false }));
    const rows = await this.database.query<{ id: string; ref: string }>(
      `select entity_id as id, entity_ref as ref from public.final_entities
        where entity_ref = any($1)`,
      [expected],
    );
    const refOf = new Map(rows.map(({ id, ref }) => [id, ref]));
    const reported = (await faults(this.database)).map(
      ({ source, key, reason }) => ({
        ref: refOf.get(key) ?? key,
        text: `${source} ${key}: ${reason}`,
      }),
    );
    return [
      ...expected
        .filter(ref => !reported.some(fault => fault.ref.includes(ref)))
        .map(ref => `not reported: ${ref}`),
      ...reported
        .filter(fault => !expected.some(ref => fault.ref.includes(ref)))
        .map(({ text }) => `reported without a reason: ${text}`),
    ];
  }
}

function wrongVersions(
  where: string,
  shown: Record<string, number>,
  expected: Record<string, number>,
): string[] {
  return [...new Set([...Object.keys(shown), ...Object.keys(expected)])]
    .filter(ref => shown[ref] !== expected[ref])
    .map(
      ref =>
        `${ref} is ${shown[ref] ?? 'not there'} in ${where}, ` +
        `not ${expected[ref] ?? 'gone'}`,
    );
}
