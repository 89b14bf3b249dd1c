import type { Step } from '../../engine/Step';
import { REQUIRED_EXTENSIONS } from '../../schema/lookups';
import { escapeIdentifier } from '../../sql';

const STATE_KEY = 'phase1.extensions';

/**
 * The extensions that are missing: in `public`, where other users of the database find them too,
 * or in the schema of the tables where the login may not create there.
 */
export const extensions = {
  name: '1_05_extensions',
  title: `Create the extensions ${REQUIRED_EXTENSIONS.join(' and ')}`,

  async up({ executor, state, settings }) {
    const rows = await executor.read<{ name: string }>(
      `select name from unnest($1::text[]) name
        where name not in (select extname from pg_extension)`,
      [REQUIRED_EXTENSIONS],
    );
    const missing = rows.map(({ name }) => name);
    if (missing.length === 0) {
      return;
    }
    const [{ schema }] = await executor.read<{ schema: string }>(
      `select case when has_schema_privilege(n.oid, 'create') then 'public' else $1 end as schema
         from (select max(oid) as oid from pg_namespace where nspname = 'public') n`,
      [settings.schema],
    );
    // Includes those of an earlier attempt, so that undo drops them too.
    const before = (await state.get<string[]>(STATE_KEY)) ?? [];
    await executor.transaction({
      title: `Create ${missing.join(' and ')}`,
      locks: 'None on tables: types, functions and operators are created.',
      statements: [
        ...missing.map(
          name =>
            `create extension if not exists ${escapeIdentifier(name)} ` +
            `with schema ${escapeIdentifier(schema)}`,
        ),
        state.put(STATE_KEY, [...new Set([...before, ...missing])]),
      ],
    });
  },

  async down({ executor, state }) {
    const created = (await state.get<string[]>(STATE_KEY)) ?? [];
    if (created.length === 0) {
      return;
    }
    await executor.transaction({
      title: `Drop ${created.join(' and ')} where nothing uses them`,
      locks:
        'None on tables. DROP EXTENSION without CASCADE fails if objects use it.',
      statements: [...created.map(dropUnused), state.forget(STATE_KEY)],
    });
  },
} satisfies Step;

function dropUnused(name: string): string {
  return `do $$ begin
  drop extension if exists ${escapeIdentifier(name)};
exception when dependent_objects_still_exist then null;
end $$`;
}
