import { readCompletedSteps } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { TENANT_TABLES } from '../schema/tables';
import { SHAPE_RULES } from './shape';
import { refuseRules } from './Rule';

type Context = Pick<StepContext, 'executor' | 'settings'>;

/**
 * Refuses a phase while tables have another shape than the layout's.
 *
 * @param what - such as `Phase 4 cannot begin`
 * @throws {@link RefusedError} with each difference, and the statements that end it
 */
export async function refuseShape(
  context: StepContext,
  what: string,
): Promise<void> {
  const begun = (await readCompletedSteps(context.executor)).length > 0;
  await refuseRules(context, what, SHAPE_RULES, begun);
}

/**
 * Refuses the way back of the swap while objects would stay with the tables that go out of
 * use.
 *
 * @throws {@link RefusedError} with each of them
 */
export async function refuseShapeToGoBack(context: Context): Promise<void> {
  const rules = SHAPE_RULES.filter(({ back }) => back);
  await refuseRules(context, 'The tables cannot be swapped', rules);
}

const TABLES = TENANT_TABLES.map(table => `'${table}'::regclass`).join(', ');

// Indexes, constraints, triggers, defaults, policies, views and whatever else depends on a
// table or its row type: one look-up by an index. After the swap partitions may be published.
const FINGERPRINT = `
  select hashtextextended(coalesce(string_agg(d::text, ' ' order by d::text), ''),
                          (select count(*) from pg_publication_rel))
    from (select classid, objid, objsubid, deptype from pg_depend
           where refclassid = 'pg_class'::regclass and refobjid in (${TABLES})
           union all
          select classid, objid, objsubid, deptype from pg_depend
           where refclassid = 'pg_type'::regclass and refobjid in (
                   select reltype from pg_class where oid in (${TABLES}))) d`;

/**
 * The statement that fails unless the same objects depend on the tables in use as do now.
 * For a moment at which no session can add any.
 */
export async function refuseLaterAdditions({
  executor,
}: Pick<StepContext, 'executor'>): Promise<string> {
  const [{ fingerprint }] = await executor.read<{ fingerprint: string }>(
    `select (${FINGERPRINT})::text as fingerprint`,
  );
  return `do $$ begin
  if (${FINGERPRINT}) <> ${fingerprint} then
    raise exception 'The tables, or what depends on them, were changed a moment ago'
      using errcode = 'integrity_constraint_violation',
            hint = 'Run the command again: it names what is in the way.';
  end if;
end $$`;
}
