import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from './scenarios';
import type { Session } from './Session';
import { DeliberateRollback, SilentFailure } from './Transaction';
import type { Transaction } from './Transaction';

export type Isolation = 'read committed' | 'repeatable read';

export interface Attempt {
  session: Session;
  transaction: Transaction;
  /** By which a lost connection's transaction is looked for afterwards. */
  id: string;
  scenario: Scenario;
  isolation: Isolation;
}

/**
 * One attempt at a transaction. It throws whatever the database says.
 *
 * @throws {@link SilentFailure} if COMMIT did something else
 */
export async function attempt(
  options: Attempt,
): Promise<'committed' | 'rolledBack'> {
  const { session, transaction, id, scenario } = options;
  await begin(options);
  try {
    await scenario.run(transaction);
  } catch (error) {
    if (error instanceof DeliberateRollback) {
      await session.query({ text: 'rollback', values: [] });
      return 'rolledBack';
    }
    throw error;
  }
  await session.query({
    text: 'insert into traffic.commits (id) values ($1)',
    values: [id],
  });
  const { command } = await session.query({ text: 'commit', values: [] });
  if (command !== 'COMMIT') {
    throw new SilentFailure(`COMMIT did a ${command}`);
  }
  return 'committed';
}

async function begin(options: Attempt): Promise<void> {
  const { session, transaction, isolation } = options;
  const { tenantId } = session.application;
  await session.query({
    text: `begin isolation level ${isolation}`,
    values: [],
  });
  if (tenantId !== undefined) {
    await session.query({
      text: `select set_config('app.tenant_id', $1, true)`,
      values: [tenantId],
    });
  }
  if (isolation === 'repeatable read') {
    // The snapshot is taken here, and the tables are touched later: whatever
    // the migration does to them in between is behind the snapshot's back.
    await session.query({
      text: 'select count(*) from pg_catalog.pg_class',
      values: [],
    });
    const { random, sizes } = transaction;
    const longest = random.chance(0.03) ? sizes.longestHoldMs : 10;
    await sleep(random.below(longest));
  }
}

/** Whether a transaction whose connection was lost has been committed. */
export async function wasCommitted(
  session: Session,
  id: string,
): Promise<boolean> {
  const { rows } = await session.query({
    text: 'select from traffic.commits where id = $1',
    values: [id],
  });
  return rows.length > 0;
}
