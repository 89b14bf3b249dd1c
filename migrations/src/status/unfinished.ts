import type { StepContext } from '../engine/Step';
import { operatorCommand } from '../operatorCommand';
import { readRegistries } from '../rollback/tenantSchemas';
import { areReadable } from '../schema/lookups';
import { RETIRED_TABLE } from '../schema/tables';
import type { NextStep } from './next';

const PURGES = `select tenant_slug as slug from ${RETIRED_TABLE} where tenant_id is not null order by 1`;

// An earlier version of the table lacks the column.
const MOVES = `select tenant_slug as slug from tenants t
  where to_jsonb(t) ->> 'read_only_until' is not null order by 1`;

const SCHEMAS = `select nspname as name from pg_namespace
  where nspname ~ '^tenant_[0-9a-f]{32}'
    and not exists (select from tenants where replace(tenant_id::text, '-', '') = substr(nspname, 8, 32))
  order by 1`;

/**
 * The commands about a tenant that were interrupted, as far as this database shows them. Those that
 * are at work at this moment are among them.
 */
export async function readUnfinished(
  context: Pick<StepContext, 'executor' | 'settings'>,
): Promise<NextStep[]> {
  const { executor } = context;
  if (!(await areReadable(executor, ['tenants', RETIRED_TABLE]))) {
    return [];
  }
  const incomplete = async (command: string, sql: string) =>
    (await executor.read<{ slug: string }>(sql)).map(({ slug }) => ({
      what: `The ${command} of the tenant "${slug}" is not complete`,
      command: operatorCommand('tenant', `${command} ${slug}`),
    }));
  // Where there are others, the schemas may be those of their tenants.
  const isOnly = (await readRegistries(context)).length === 0;
  const schemas = isOnly ? await executor.read<{ name: string }>(SCHEMAS) : [];
  return [
    ...(await incomplete('purge', PURGES)),
    ...(await incomplete('move', MOVES)),
    ...schemas.map(({ name }) => ({
      what: `The schema "${name}" belongs to no tenant, as after an import that was stopped`,
      command: operatorCommand('tenant', 'import <file>'),
    })),
  ];
}
