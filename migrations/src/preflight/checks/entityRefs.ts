import { ENTITY_REF_RULE } from '../../phases/phase3_application/rules';
import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import { hasColumns } from '../hasColumns';
import type { PreflightCheck } from '../PreflightCheck';
import { formatThings, enumerate, script } from '../../text';

const EXAMPLES = 10;

/** Three groups, which put together again are the reference. */
const FORM = '^([^:]+):([^/]+)/(.+)$';

// A null in one of the columns breaks the rule as well.
const BROKEN = `(${ENTITY_REF_RULE}) is not true`;

/** Every entity_ref is put together from kind, namespace and name. */
export const entityRefs: PreflightCheck = {
  name: 'entity references',
  scope: 'rows',
  async run(context) {
    const { executor, facts, settings } = context;
    const entities = facts.tables.find(({ name }) => name === 'entities');
    const text = {
      entity_ref: 'text',
      entity_kind: 'text',
      entity_namespace: 'text',
      entity_name: 'text',
    };
    if (!entities || !(await hasColumns(context, entities, text))) {
      return [];
    }
    const [{ broken, formless, examples }] = await executor.read<{
      broken: number;
      formless: number;
      examples: string[];
    }>(
      `with broken as materialized (
         select entity_ref, entity_kind, entity_namespace, entity_name
           from ${entities.sql} where ${BROKEN})
       select (select count(*)::int from broken) as broken,
              (select count(*)::int from broken
                where entity_ref !~ '${FORM}' or entity_ref is null) as formless,
              array(select format('%s (of %s:%s/%s)', entity_ref, entity_kind,
                                  entity_namespace, entity_name)
                      from broken order by 1 limit ${EXAMPLES}) as examples`,
    );
    if (broken === 0) {
      return [
        ok(
          'Every entity_ref is <entity_kind>:<entity_namespace>/<entity_name>.',
        ),
      ];
    }
    const formed = broken - formless;
    return [
      failure(
        `In ${formatThings(broken, 'row')} of entities, entity_ref is not ` +
          `<entity_kind>:<entity_namespace>/<entity_name>: ${enumerate(
            examples,
          )}` +
          `${broken > examples.length ? ', …' : ''}.`,
        {
          advice:
            `The first statement takes kind, namespace and name from the reference, ` +
            `where it has the form: in ${formatThings(
              formed,
              'row',
            )}. The second lists the ` +
            `other ${formless}: correct or delete those. See first that the application ` +
            'does not write the old values again.',
          sql: script(repairStatements(settings.schema)),
          details: examples,
        },
      ),
    ];
  },
};

/**
 * What mends the entities whose `entity_ref` is not
 * `<entity_kind>:<entity_namespace>/<entity_name>`: an update that takes the three
 * from the reference where it has that form, and a query for those where it has not.
 * The reference itself is left alone, because others name the entity by it.
 *
 * @public
 */
export function repairStatements(schema: string): string[] {
  const entities = `${escapeIdentifier(schema)}.entities`;
  const parts = `regexp_match(entity_ref, '${FORM}')`;
  return [
    `update ${entities}
   set entity_kind = (${parts})[1],
       entity_namespace = (${parts})[2],
       entity_name = (${parts})[3]
 where ${BROKEN}
   and entity_ref ~ '${FORM}'`,
    `select entity_id, entity_ref, entity_kind, entity_namespace, entity_name
  from ${entities}
 where ${BROKEN}
   and (entity_ref ~ '${FORM}') is not true`,
  ];
}
