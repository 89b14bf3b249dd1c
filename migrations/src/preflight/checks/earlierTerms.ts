import {
  dropEarlierStatements,
  EARLIER_FOLLOW,
} from '../../phases/phase5_partitions/90_entity_terms/earlier';
import { EARLIER_SEARCH_TABLE } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { formatBytes, script } from '../../text';
import { warning } from '../PreflightCheck';
import type { PreflightCheck } from '../PreflightCheck';

/** Whether the database still keeps the table that earlier versions searched entities by. */
export const earlierTerms: PreflightCheck = {
  name: 'earlier terms',
  scope: 'server',
  async run({ executor, settings }) {
    // By the catalogs, which a login without rights may read too.
    const [found] = await executor.read<{ size: number; isReplaced: boolean }>(
      `select pg_total_relation_size(c.oid)::float8 as size,
              exists (select from pg_class r
                       where r.relnamespace = n.oid and r.relname = $3) as "isReplaced"
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = $2
          and exists (select from pg_proc p
                       where p.pronamespace = n.oid and p.proname || '()' = $4)`,
      [settings.schema, EARLIER_SEARCH_TABLE, 'entity_terms', EARLIER_FOLLOW],
    );
    if (!found) {
      return [];
    }
    return [
      warning(
        `${EARLIER_SEARCH_TABLE}, by which an earlier version searches, takes ${formatBytes(
          found.size,
        )}, and each write of an entity writes it too.`,
        found.isReplaced
          ? {
              advice:
                'Once no backend of that version runs any more, run this as the owner of the ' +
                'tables. It takes ACCESS EXCLUSIVE on entities for a change of the catalog: if ' +
                'it is not granted within the lock timeout, run it again.',
              sql: script([
                'begin',
                `set local search_path = ${escapeIdentifier(settings.schema)}`,
                `set local lock_timeout = ${settings.lockTimeoutMs}`,
                ...dropEarlierStatements,
                'commit',
              ]),
            }
          : {
              advice: 'Phase 5 puts entity_terms in its place, half as large.',
            },
      ),
    ];
  },
};
