import type { ClientConfig } from 'pg';
import type { Reporter } from './Reporter';
import { phases } from './phases';
import { beginCreation } from './phases/create';
import { distribute as distributeTables } from './sharding/distribute';
import type { Distribution } from './sharding/distribute';
import { UPGRADE } from './session/operatorLock';
import { renderEngines } from './status/engines';
import { readStatus } from './status/readStatus';
import { refuseWithoutTables } from './status/next';
import { withMigration } from './withMigration';

const READ = { command: 'library', mode: 'read' } as const;
const CHANGE = { command: 'library', mode: 'change' } as const;

/**
 * The options of a migration. Only the connection has no default.
 *
 * @public
 */
export interface MigrateOptions {
  /** As `pg` has it; `connectionOfKnex` makes one of a Knex instance. */
  connection: ClientConfig | string;
  /** The schema of the tables; `tenancy` by default. */
  schema?: string;
  /** Up to how long, in milliseconds, a request for a lock may hold up writers; 1000 by default. */
  maxPauseMs?: number;
  /** Rows of a batch; 2000 by default. */
  batchSize?: number;
  /** `tenant_name` of the default tenant; `Default tenant` by default. */
  defaultTenantName?: string;
  /** Whether `portal_admin` is granted to `portal_app`; true by default. */
  adminGrant?: boolean;
  /** Goes on where a phase would refuse because an old application is connected. */
  force?: boolean;
  /** Creates the three tables, empty and as phase 5 leaves them, where none of them exists. */
  createTables?: boolean;
  /** Reports progress and warnings; silent by default. */
  reporter?: Reporter;
}

/**
 * What {@link migrateTo} has done.
 *
 * @public
 */
export interface MigrateResult {
  /** The last phase that is complete. */
  phase: number;
  /** The steps that were done now. */
  done: string[];
}

/**
 * Takes a database up to a phase, and does nothing where it is there already. It
 * never goes back, and phase 6, the cutover, is not for a library to decide on.
 *
 * Several processes of a backend may call it at the same time: all but one get an
 * {@link OtherOperatorError} while there is something to do, and call again.
 *
 * @throws {@link MigrationError} of one kind or another, if a condition does not hold
 * @public
 */
export async function migrateTo(
  phase: 1 | 2 | 3 | 4 | 5,
  options: MigrateOptions,
): Promise<MigrateResult> {
  // Without the operator's lock, so that a process that finds nothing to do is
  // not refused because of another one that looks at the same time.
  const { present, isDone } = await withMigration(
    options,
    READ,
    async migration => {
      const completed = await migration.completedPhase();
      return {
        present: completed,
        isDone:
          completed >= phase && (phase < 5 || (await migration.isUpToDate())),
      };
    },
  );
  if (isDone) {
    return { phase: present, done: [] };
  }
  return withMigration(options, CHANGE, async migration => {
    const before = await migration.completedSteps();
    if (!(options.createTables && (await beginCreation(migration)))) {
      await refuseWithoutTables(migration);
    }
    for (const { number } of phases) {
      if (number <= phase) {
        await migration.runPhase(number);
      }
    }
    const after = await migration.completedSteps();
    return {
      phase: await migration.completedPhase(),
      done: after.filter(step => !before.includes(step)),
    };
  });
}

/**
 * Brings the tables of this product beside those of the specification up to date, after an
 * update. It does nothing where they are.
 *
 * Of several processes that call it at the same time one does it, and the others wait.
 *
 * @returns what was missing, in words
 * @throws {@link RefusedError} if phase 5 is not complete
 * @throws {@link OtherOperatorError} while another command works on the schema
 * @public
 */
export async function upgrade(
  options: Pick<
    MigrateOptions,
    'connection' | 'schema' | 'maxPauseMs' | 'reporter'
  >,
): Promise<string[]> {
  const isUpToDate = await withMigration(
    options,
    { command: UPGRADE, mode: 'read' },
    migration => migration.isUpToDate(),
  );
  return isUpToDate
    ? []
    : withMigration(options, { command: UPGRADE, mode: 'change' }, migration =>
        migration.upgrade(),
      );
}

/**
 * Where a migration stands.
 *
 * @public
 */
export interface MigrationStatus {
  /** The last phase that is complete, 0 before the first. */
  phase: number;
  /** The phase that has begun and is not complete. */
  phaseBegun: number | null;
  /** What comes next, and the operator's command for it. */
  next: { what: string; command: string | null };
  /** The names of its tables that are there. */
  tables: string[];
  /** What the engines of tenants do, in words; nothing where there are none. */
  engines: { summary: string; failing: number } | null;
}

/**
 * Tells where the migration of a database stands. It changes nothing and locks
 * nothing.
 *
 * @public
 */
export async function status(
  options: Pick<MigrateOptions, 'connection' | 'schema'>,
): Promise<MigrationStatus> {
  const report = await withMigration(options, READ, readStatus);
  const { phase, phaseBegun, next, tables, engines } = report;
  return {
    phase,
    phaseBegun,
    next,
    tables,
    engines: engines?.engines
      ? {
          summary: renderEngines(engines),
          failing:
            (engines.states.failed ?? 0) + (engines.states.unassigned ?? 0),
        }
      : null,
  };
}

/**
 * Spreads the tables of tenants over the nodes of Citus, as the command `distribute` does.
 * Writers wait meanwhile, and readers do not.
 *
 * @param options - the connection of a superuser, on the coordinator of Citus
 * @throws {@link RefusedError} with everything that is in the way, before anything is changed
 * @public
 */
export async function distribute(
  options: Pick<
    MigrateOptions,
    'connection' | 'schema' | 'maxPauseMs' | 'reporter'
  >,
): Promise<Distribution> {
  return withMigration(options, CHANGE, migration =>
    distributeTables(migration),
  );
}
