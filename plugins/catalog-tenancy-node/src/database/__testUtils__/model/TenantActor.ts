import {
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from '../../../pool/errors';
import type { TenantDatabase } from '../../TenantDatabase';
import { createOperation, predict, runOperation } from './operations';
import type { Operation, Prediction } from './operations';
import type { Random } from '@internal/postgres/testUtils';
import type { Entities } from './steps';

export interface TenantActorOptions {
  tenant: string;
  otherTenants: string[];
  database: TenantDatabase;
  random: Random;
  /** What a superuser finds, once PostgreSQL is done with all that was lost. */
  readTruth: (tenant: string) => Promise<Entities>;
}

/** What became of the operations. */
export interface Tally {
  succeeded: number;
  failedAsExpected: number;
  cancelled: number;
  unavailable: number;
  inDoubt: number;
}

/** Does random things as one tenant, and knows what has to come of them. */
export class TenantActor {
  readonly tally: Tally = {
    succeeded: 0,
    failedAsExpected: 0,
    cancelled: 0,
    unavailable: 0,
    inDoubt: 0,
  };

  readonly #options: TenantActorOptions;
  #entities: Entities = new Map();

  constructor(options: TenantActorOptions) {
    this.#options = options;
  }

  /** @throws for whatever is not as it has to be */
  async act(): Promise<void> {
    const { tenant, otherTenants, random, database } = this.#options;
    const operation = createOperation(random, random.pick(otherTenants));
    const prediction = predict(operation, tenant, this.#entities);
    const wrong: string[] = [];
    const run = runOperation(database, tenant, operation, (step, rows) => {
      const expected = prediction.rows[step];
      const right = expected
        ? sameRows(rows, expected)
        : operation.steps[step].last ||
          rows.every(row => row.startsWith(tenant));
      if (!right) {
        wrong.push(`Statement ${step} returned ${rows}, and not ${expected}`);
      }
    });
    const [outcome] = await Promise.allSettled([run]);
    const complaint =
      wrong[0] ?? (await this.#judge(outcome, prediction, operation));
    if (complaint) {
      throw new Error(`${complaint} (${describe(operation)})`);
    }
  }

  /** Compares everything there is. */
  async compare(): Promise<void> {
    const truth = await this.#options.readTruth(this.#options.tenant);
    if (!sameEntities(truth, this.#entities)) {
      throw new Error(
        `There is ${show(truth)}, where ${show(this.#entities)} was committed`,
      );
    }
  }

  async #judge(
    outcome: PromiseSettledResult<void>,
    { entities, failures }: Prediction,
    { manner }: Operation,
  ): Promise<string | undefined> {
    if (outcome.status === 'fulfilled') {
      this.tally.succeeded += 1;
      this.#entities = entities;
      return failures.length > 0
        ? `It succeeded, and had to fail with ${failures}`
        : undefined;
    }
    const error = outcome.reason;
    if (error instanceof DatabaseUnavailableError) {
      this.tally.unavailable += 1;
      return error.outcomeUnknown
        ? await this.#resolveDoubt(
            failures.length > 0 ? this.#entities : entities,
          )
        : undefined;
    }
    if (error instanceof DatabaseTimeoutError) {
      this.tally.cancelled += 1;
      return undefined;
    }
    if (failures.some(failure => failure.test(error.message))) {
      this.tally.failedAsExpected += 1;
      return undefined;
    }
    return `It failed${manner ? ' as a transaction' : ''} with ${error.stack}`;
  }

  /** Either all of it has been committed, or nothing. */
  async #resolveDoubt(ifCommitted: Entities): Promise<string | undefined> {
    this.tally.inDoubt += 1;
    const truth = await this.#options.readTruth(this.#options.tenant);
    if (
      !sameEntities(truth, this.#entities) &&
      !sameEntities(truth, ifCommitted)
    ) {
      return `After a lost connection there is ${show(truth)}`;
    }
    this.#entities = truth;
    return undefined;
  }
}

function describe({ steps, manner }: Operation): string {
  const statements = steps.map(({ build }) => build);
  return `${statements.join(' | ')}, ${manner ?? 'by itself'}`;
}

function sameRows(left: string[], right: string[]): boolean {
  return [...left].sort().join() === [...right].sort().join();
}

function sameEntities(left: Entities, right: Entities): boolean {
  return show(left) === show(right);
}

function show(entities: Entities): string {
  return JSON.stringify([...entities].sort());
}
