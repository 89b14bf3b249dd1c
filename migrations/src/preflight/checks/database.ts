import { findWrongEncoding } from '../../phases/phase1_tenant_column/encoding';
import { escapeIdentifier } from '../../sql';
import { enumerate } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type { PreflightCheck } from '../PreflightCheck';

/** Texts of catalogs are lower-cased, which takes an encoding. */
export const encoding: PreflightCheck = {
  name: 'encoding',
  scope: 'server',
  async run({ executor }) {
    const wrong = await findWrongEncoding(executor);
    return [
      wrong
        ? failure(wrong.problem, { advice: wrong.advice })
        : ok('The encoding of the database knows letters.'),
    ];
  },
};

/**
 * Event triggers that run at the statements of the phases, and of engines of tenants later. What
 * they do can't be told: `verify` finds what hides rows from the application.
 */
export const eventTriggers: PreflightCheck = {
  name: 'event triggers',
  scope: 'server',
  fine: 'No event trigger runs at what the phases create.',
  async run({ executor }) {
    const rows = await executor.read<{ name: string; event: string }>(
      `select e.evtname::text as name, e.evtevent::text as event
         from pg_event_trigger e
        where e.evtenabled in ('O', 'A') and e.evtevent <> 'login'
          -- Those of extensions look after what is theirs.
          and not exists (
            select from pg_depend d
             where d.classid = 'pg_event_trigger'::regclass and d.objid = e.oid
               and d.deptype = 'e')
        order by e.evtname`,
    );
    return rows.length === 0
      ? []
      : [
          warning(
            `Event triggers run at what the phases create: ${enumerate(
              rows.map(({ name, event }) => `${name} (${event})`),
            )}.`,
            {
              advice:
                'See that they leave the tables of tenants alone, or let a superuser run this until phase 5 is done.',
              sql: rows
                .map(
                  ({ name }) =>
                    `alter event trigger ${escapeIdentifier(name)} disable;`,
                )
                .join('\n'),
              details: rows,
            },
          ),
        ];
  },
};
