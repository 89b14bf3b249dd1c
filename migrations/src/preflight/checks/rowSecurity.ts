import { TENANT_POLICY } from '../../schema/policies';
import { escapeIdentifier } from '../../schema/sql';
import { failure, ok } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { enumerate, script } from '../../text';

/** Row-level security is not in use: policies of others would add up with ours. */
export const rowSecurity: PreflightCheck = {
  name: 'row-level security',
  scope: 'tables',
  async run({ executor, facts }) {
    const found = await executor.read<{
      oid: number;
      enabled: boolean;
      policies: string[];
    }>(
      `select c.oid, c.relrowsecurity or c.relforcerowsecurity as enabled,
              array(select polname::text from pg_policy
                     where polrelid = c.oid order by 1) as policies
         from pg_class c where c.oid = any ($1)`,
      [facts.tables.map(({ oid }) => oid)],
    );
    const outcomes = found.flatMap(({ oid, enabled, policies }) => {
      const { name, sql } = facts.tables.find(table => table.oid === oid)!;
      const ours = facts.begunPhase >= 4;
      const foreign = policies.filter(each => !ours || each !== TENANT_POLICY);
      if (foreign.length === 0 && (ours || !enabled)) {
        return [];
      }
      const what =
        foreign.length > 0
          ? `has policies: ${enumerate(foreign)}`
          : 'has row-level security enabled';
      return [
        failure(`${name} ${what}.`, {
          advice: 'Policies add up: drop these, and leave the rest to phase 4.',
          sql: script([
            ...foreign.map(
              policy => `drop policy ${escapeIdentifier(policy)} on ${sql}`,
            ),
            ...(ours
              ? []
              : [
                  `alter table ${sql} disable row level security, no force row level security`,
                ]),
          ]),
        }),
      ];
    });
    return outcomes.length > 0
      ? outcomes
      : [ok('No policy stands in the way of those of phase 4.')];
  },
};
