import { nullableColumns } from '../../phases/phase3_application/rules';
import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { formatThings, enumerate, script } from '../../text';

/** Columns that become NOT NULL hold a value in every row. */
export const requiredValues: PreflightCheck = {
  name: 'required values',
  scope: 'rows',
  async run({ executor, facts }) {
    const outcomes: Outcome[] = [];
    const nullable: string[] = [];
    for (const { table, column } of await nullableColumns(executor)) {
      const { sql } = facts.tables.find(({ name }) => name === table)!;
      const name = escapeIdentifier(column);
      const [{ missing }] = await executor.read<{ missing: number }>(
        `select count(*)::int as missing from ${sql} where ${name} is null`,
      );
      nullable.push(`${table}.${column}`);
      if (missing > 0) {
        outcomes.push(
          failure(
            `${formatThings(
              missing,
              'row',
            )} of ${table} without a value of ${column}, which is required.`,
            {
              advice: 'Give these rows a value, or delete them.',
              sql: script([`select * from ${sql} where ${name} is null`]),
            },
          ),
        );
      }
    }
    if (outcomes.length > 0) {
      return outcomes;
    }
    return [
      ok(
        nullable.length === 0
          ? 'The required columns are NOT NULL.'
          : `Every row has the required values; phase 3 makes these columns NOT NULL: ${enumerate(
              nullable,
            )}.`,
      ),
    ];
  },
};
