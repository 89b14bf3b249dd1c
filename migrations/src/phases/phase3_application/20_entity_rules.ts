import {
  addConstraint,
  dropConstraint,
  dropNotNull,
  setNotNull,
} from '../../schema/changes';
import type { Step } from '../../engine/Step';
import type { Executor } from '../../engine/Executor';
import { ENTITY_REF_RULE, nullableColumns } from '../../checks/rows';
import type { NullableColumn } from '../../checks/rows';
import { comparable, LAYOUT } from '../../layout';

const ENTITY_REF_CHECK = 'entities_entity_ref_check';

// The columns that were nullable before.
const STATE_KEY = 'phase3.notNull';

// Whether this step added the check of entity references.
const ADDED_KEY = 'phase3.entityRefCheck';

/** The rules of the new table's columns, on the tables in use. */
export const entityRules: Step = {
  name: '3_20_entity_rules',
  title: 'Hold rows to the rules of the new tables',
  live: true,

  async up(context) {
    const { executor, state } = context;
    // Undo keeps one that existed before, such as that of a fresh database.
    if (!(await hasRefCheck(executor))) {
      await executor.execute(state.put(ADDED_KEY, true));
      await addConstraint(context, {
        name: ENTITY_REF_CHECK,
        table: 'entities',
        definition: `check (${ENTITY_REF_RULE})`,
      });
    }
    let remembered =
      (await context.state.get<NullableColumn[]>(STATE_KEY)) ?? [];
    for (const column of await nullableColumns(context.executor)) {
      remembered = [...remembered, column];
      const proof = proofOf(column.table, column.column);
      await setNotNull(context, { ...column, proof }, [
        state.put(STATE_KEY, remembered),
      ]);
    }
  },

  async down(context) {
    const { executor, state } = context;
    for (const column of (await state.get<NullableColumn[]>(STATE_KEY)) ?? []) {
      await dropNotNull(context, column);
    }
    await executor.execute(state.forget(STATE_KEY));
    if (await state.get(ADDED_KEY)) {
      await dropConstraint(context, {
        name: ENTITY_REF_CHECK,
        table: 'entities',
      });
      await executor.execute(state.forget(ADDED_KEY));
    }
  },
};

async function hasRefCheck(executor: Executor): Promise<boolean> {
  const rows = await executor.read(
    `select from pg_constraint
      where conrelid = to_regclass('entities') and contype = 'c'
        and ${comparable('pg_get_constraintdef(oid)')} = ${comparable('$1')}`,
    LAYOUT.entities.checks.slice(),
  );
  return rows.length > 0;
}

function proofOf(table: string, column: string): string {
  return `${table}_${column}_present`;
}
