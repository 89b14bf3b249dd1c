import { DeliberateRollback } from '../Transaction';
import type { Scenario, Transaction } from '../Transaction';
import {
  createEntity,
  entityScenarios,
  removeEntity,
  writeMany,
} from './entities';
import { refreshStateScenarios } from './refreshState';
import { relationScenarios } from './relations';
import { writeShared } from './shared';

// On entities that only the writer itself touches.
const own = [
  ...entityScenarios,
  ...relationScenarios,
  ...refreshStateScenarios,
];

async function several(tx: Transaction, atMost: number): Promise<void> {
  for (let count = tx.random.below(atMost); count >= 0; count -= 1) {
    await nextOwn(tx).run(tx);
  }
}

const manyInOne: Scenario = {
  name: 'several writes',
  weight: 10,
  run: tx => several(tx, 8),
};

/** Holds its locks, then goes on to tables that it may not have touched yet. */
const long: Scenario = {
  name: 'long transaction',
  weight: 1,
  async run(tx) {
    await several(tx, 3);
    if (tx.random.chance(0.2)) {
      await writeShared.run(tx);
    }
    await tx.hold(tx.sizes.longestHoldMs / 3, tx.sizes.longestHoldMs);
    await several(tx, 3);
  },
};

const rolledBack: Scenario = {
  name: 'rolled back',
  weight: 4,
  async run(tx) {
    await several(tx, 5);
    if (tx.random.chance(0.3)) {
      await writeShared.run(tx);
    }
    throw new DeliberateRollback();
  },
};

const savepoints: Scenario = {
  name: 'savepoints',
  weight: 6,
  async run(tx) {
    await several(tx, 2);
    await tx.takenBack(() => several(tx, 3));
    await tx.nested(() => several(tx, 2));
    await tx.takenBack(() => tx.nested(() => several(tx, 2)));
  },
};

/** All that the writers do by default. */
export const scenarios: readonly Scenario[] = [
  ...own,
  writeShared,
  writeMany,
  manyInOne,
  long,
  rolledBack,
  savepoints,
];

/** Keeps the number of entities near the one that is wanted. */
function nextOwn(tx: Transaction): Scenario {
  const count = tx.expected.all().length;
  if (count < tx.sizes.entitiesPerWriter * 0.7) {
    return createEntity;
  }
  return count > tx.sizes.entitiesPerWriter * 1.5 + tx.sizes.bigTransaction
    ? removeEntity
    : tx.random.weighted(own);
}
