import type { Database } from './database';
import {
  type MigrationSettings,
  phases,
  rollback,
  silentReporter,
  TenancyMigration,
} from './engine';
import { SCHEMA } from './servers';

/** What a step is told by; the engine announces each when it begins. */
interface StepId {
  name: string;
  title: string;
}

/** How long a step took. */
export interface StepTime {
  name: string;
  seconds: number;
}

/** Ends a command between two steps. */
export class Stopped extends Error {}

/** A reporter that measures the steps of a command. */
export class StepClock {
  readonly reporter: typeof silentReporter;
  readonly #times: StepTime[] = [];
  readonly #now: () => number;
  #current?: { name: string; since: number };

  /** @param stopBefore - the step before which the command is ended */
  constructor(options: { stopBefore?: StepId; now?: () => number } = {}) {
    this.#now = options.now ?? (() => performance.now());
    const steps: StepId[] = phases.flatMap(phase => phase.steps);
    this.reporter = {
      ...silentReporter,
      info: message => {
        const step = steps.find(({ title }) =>
          [title, `Undo: ${title}`].includes(message),
        );
        if (!step) {
          return;
        }
        this.#finish();
        if (step.name === options.stopBefore?.name) {
          throw new Stopped(`Stopped before ${step.name}`);
        }
        this.#current = { name: step.name, since: this.#now() };
      },
    };
  }

  /** The steps in their order; the last one ends now if nothing followed it. */
  times(): StepTime[] {
    this.#finish();
    return this.#times;
  }

  /** Seconds of some steps together. */
  secondsOf(steps: StepId[]): number {
    const names = steps.map(({ name }) => name);
    return this.times()
      .filter(({ name }) => names.includes(name))
      .reduce((sum, { seconds }) => sum + seconds, 0);
  }

  #finish(): void {
    if (this.#current) {
      const { name, since } = this.#current;
      this.#times.push({ name, seconds: (this.#now() - since) / 1000 });
      this.#current = undefined;
    }
  }
}

type Reporter = typeof silentReporter;

// The commands' own defaults.
const SETTINGS: MigrationSettings = {
  schema: SCHEMA,
  maxPauseMs: 1000,
  batchSize: 2000,
  defaultTenantName: 'Default tenant',
  adminGrant: true,
  // The writers are connected as portal_app while the swap is undone.
  force: true,
};

/** Runs a command of an operator, in a session of its own. */
export async function operate<T>(
  { postgres, name }: Database,
  command: (migration: TenancyMigration) => Promise<T>,
  reporter: Reporter = silentReporter,
): Promise<T> {
  const migration = await TenancyMigration.open({
    phases,
    connection: { connectionString: postgres.connectionString(name) },
    command: 'benchmark',
    settings: SETTINGS,
    mode: 'change',
    reporter,
  });
  try {
    return await command(migration);
  } finally {
    await migration.close();
  }
}

/** `migrate:phase<n>` */
export async function runPhase(
  database: Database,
  phase: 1 | 2 | 3 | 4 | 5,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => migration.runPhase(phase), reporter);
}

/** The same up to a step, before which it is ended; what it measured until then. */
export async function runPhaseUpTo(
  database: Database,
  phase: 1 | 2 | 3 | 4 | 5,
  step: { name: string; title: string },
): Promise<StepClock> {
  const clock = new StepClock({ stopBefore: step });
  await runPhase(database, phase, clock.reporter).then(
    () => {
      throw new Error(`Phase ${phase} has no step ${step.name}`);
    },
    error => {
      if (!(error instanceof Stopped)) {
        throw error;
      }
    },
  );
  return clock;
}

/** `migrate:rollback`, with `--to` or without. */
export async function goBack(
  database: Database,
  to?: 0 | 1 | 2 | 3 | 4,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => rollback(migration, to), reporter);
}
