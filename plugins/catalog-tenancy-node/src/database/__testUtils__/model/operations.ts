import type { TenantDatabase, TenantTransaction } from '../../TenantDatabase';
import { createStep, UNSENT } from './steps';
import type { Entities, Row, Step } from './steps';
import type { Random } from '@internal/postgres/testUtils';

/** How the statements of a transaction are given, and how it ends. */
const MANNERS = [
  'in order',
  'in order',
  'side by side',
  'without waiting',
  'swallowing failures',
  'changing its mind',
] as const;

const CHANGED_MIND = /changed my mind/;

/** One operation of a tenant, and what it has to lead to. */
export interface Operation {
  steps: Step[];
  /** Of a transaction; a single statement has none. */
  manner?: (typeof MANNERS)[number];
}

export function createOperation(
  random: Random,
  otherTenant: string,
): Operation {
  if (random.chance(0.6)) {
    return { steps: [createStep(random, otherTenant)] };
  }
  const steps: Step[] = [];
  do {
    steps.push(createStep(random, otherTenant));
  } while (!steps[steps.length - 1].last && random.chance(0.65));
  return { steps, manner: random.pick(MANNERS) };
}

/** What an operation has to do. */
export interface Prediction {
  /** What there is if it succeeds. */
  entities: Entities;
  /** The rows of each statement before the one that fails, as texts. */
  rows: string[][];
  /** What it has to fail with, one of them, if there are any. */
  failures: RegExp[];
}

export function predict(
  { steps, manner }: Operation,
  tenant: string,
  before: Entities,
): Prediction {
  const entities = new Map(before);
  const rows: string[][] = [];
  for (const step of steps) {
    const known = new Map(entities);
    const result = step.apply(entities);
    if (!Array.isArray(result)) {
      // What nobody notices before the end is not noticed if that never comes.
      const early = step.last && manner === 'changing its mind';
      const failures = [early ? CHANGED_MIND : result.failure];
      if (steps.some(({ unsent }) => unsent)) {
        // Side by side, it may be the first although others stand before it.
        failures.push(UNSENT);
      }
      return { entities: before, rows, failures };
    }
    rows.push(
      result.map(name =>
        describeRow({
          tenant_id: tenant,
          entity_name: name,
          hash: (entities.get(name) ?? known.get(name))!,
        }),
      ),
    );
  }
  const failures = manner === 'changing its mind' ? [CHANGED_MIND] : [];
  return { entities, rows, failures };
}

/**
 * Runs an operation.
 *
 * @param onRows - is told the rows of each statement, also of those that are rolled back
 */
export async function runOperation(
  database: TenantDatabase,
  tenant: string,
  { steps, manner }: Operation,
  onRows: (step: number, rows: string[]) => void,
): Promise<void> {
  if (!manner) {
    const [step] = steps;
    const rows = await database.query<Row>(tenant, scope => step.build(scope));
    onRows(0, rows.map(describeRow));
    return;
  }
  await database.transaction(tenant, async transaction => {
    const running: Promise<void>[] = [];
    for (const [index, step] of steps.entries()) {
      const done = runStep(transaction, step).then(rows => onRows(index, rows));
      // Those that nobody waits for.
      done.catch(() => undefined);
      running.push(done);
      if (manner === 'in order' || manner === 'changing its mind') {
        await done;
      } else if (manner === 'swallowing failures') {
        await done.catch(() => undefined);
      }
    }
    if (manner === 'side by side') {
      await Promise.all(running);
    } else if (manner === 'changing its mind') {
      throw new Error('changed my mind');
    }
  });
}

async function runStep(
  transaction: TenantTransaction,
  step: Step,
): Promise<string[]> {
  const rows = await transaction.query<Row>(step.build(transaction));
  return rows.map(describeRow);
}

function describeRow({ tenant_id, entity_name, hash }: Row): string {
  return `${tenant_id} ${entity_name} ${hash}`;
}
