import { addConstraint, dropConstraint } from '../../schema/changes';
import type { Step, StepContext } from '../../engine/Step';
import { escapeIdentifier } from '../../schema/sql';
import { ENTITY_REF_RULE, nullableColumns } from './rules';
import type { NullableColumn } from './rules';

const ENTITY_REF_CHECK = 'entities_entity_ref_check';

// The columns that were nullable before.
const STATE_KEY = 'phase3.notNull';

/** The rules of the new table's columns, on the tables in use. */
export const entityRules: Step = {
  name: '3_20_entity_rules',
  title: 'Hold rows to the rules of the new tables',

  async up(context) {
    await addConstraint(context, {
      name: ENTITY_REF_CHECK,
      table: 'entities',
      definition: `check (${ENTITY_REF_RULE})`,
      locks: catalogOnly('entities'),
    });
    let remembered =
      (await context.state.get<NullableColumn[]>(STATE_KEY)) ?? [];
    for (const column of await nullableColumns(context.executor)) {
      remembered = [...remembered, column];
      await setNotNull(context, column, remembered);
    }
  },

  async down(context) {
    const { executor, state } = context;
    for (const { table, column } of (await state.get<NullableColumn[]>(
      STATE_KEY,
    )) ?? []) {
      await executor.transaction({
        title: `Drop NOT NULL of ${table}.${column}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          `alter table ${table} alter column ${escapeIdentifier(column)} ` +
            'drop not null',
        ],
      });
    }
    await executor.execute(state.forget(STATE_KEY));
    await dropConstraint(context, {
      name: ENTITY_REF_CHECK,
      table: 'entities',
      locks: catalogOnly('entities'),
    });
  },
};

// SET NOT NULL alone reads the table under a lock that stops everybody; a
// constraint that was validated before proves the same.
async function setNotNull(
  context: StepContext,
  nullable: NullableColumn,
  remembered: NullableColumn[],
): Promise<void> {
  const { table, column } = nullable;
  const proof = `${table}_${column}_present`;
  const name = escapeIdentifier(column);
  await addConstraint(context, {
    name: proof,
    table,
    definition: `check (${name} is not null)`,
    locks: catalogOnly(table),
  });
  await context.executor.transaction({
    title: `Set ${table}.${column} NOT NULL`,
    locks: catalogOnly(table),
    tables: [table],
    statements: [
      `alter table ${table} alter column ${name} set not null`,
      `alter table ${table} drop constraint if exists ${proof}`,
      context.state.put(STATE_KEY, remembered),
    ],
  });
}

function catalogOnly(table: string): string {
  return `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is read.`;
}
