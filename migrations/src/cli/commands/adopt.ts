import { adopt as adoptCatalog, readAdoptionLosses } from '../../adopt/adopt';
import type { AdoptedTenant } from '../../adopt/engine';
import { requireTenant } from '../../adopt/engine';
import {
  describeEngines,
  readAdoptionStatus,
  renderAdoption,
} from '../../adopt/status';
import { unadopt as endAdoption } from '../../adopt/unadopt';
import { operatorCommand } from '../../operatorCommand';
import { DEFAULT_TENANT_SLUG } from '../../schema/tables';
import { describeNext, readNext } from '../../status/next';
import {
  dryRunOption,
  noAdminGrantOption,
  option,
  parseSchema,
  tenantNameOption,
  tenantOption,
  yesOption,
} from '../options';
import type { CommandDefinition, Invocation } from '../run';
import { checkFirst } from './preflight';

/** The tenant that was named, or the default one. */
async function tenantOf({
  migration: { context },
  options: { tenant },
}: Invocation): Promise<AdoptedTenant> {
  return tenant === undefined || tenant === DEFAULT_TENANT_SLUG
    ? {}
    : requireTenant(context, tenant);
}

/** The same; one that a rollback took from the registry is named by its id, for its engine is there. */
async function adoptedTenantOf(invocation: Invocation): Promise<AdoptedTenant> {
  const { migration, options } = invocation;
  const engines = await describeEngines(migration.context);
  const gone = engines.find(
    ({ tenantId, slug }) =>
      slug === null && tenantId === options.tenant?.toLowerCase(),
  );
  return gone ? { tenantId: gone.tenantId } : await tenantOf(invocation);
}

/** Makes the entities of an engine those of its tenant. */
export const adopt: CommandDefinition = {
  name: 'adopt',
  description:
    "Make the entities of the stock catalog the default tenant's, and keep them so while its engine goes on writing.",
  details:
    'It creates the tables of tenants where they are missing. Run again, it goes on, and\n' +
    'retries what could not be carried. The login has to own the tables of the catalog.',
  access: 'change',
  options: [
    dryRunOption,
    tenantOption,
    option(
      '--catalog-schema <name>',
      'the schema of the stock catalog (default: where its tables are found)',
      parseSchema,
    ),
    option(
      '--force',
      'go on although entities of the tenant, which the catalog does not have, will be removed',
    ),
    yesOption,
    tenantNameOption,
    noAdminGrantOption,
  ],
  async run(invocation) {
    const { migration, settings, report, confirm } = invocation;
    const { context } = migration;
    const tenant = await tenantOf(invocation);
    if (settings.force) {
      await confirm(await readAdoptionLosses(context, tenant));
    }
    if ((await migration.completedPhase()) === 0) {
      // Tables that are created need neither a backup nor a job that drops those of before.
      await checkFirst(invocation, ['backup', 'pg_cron']);
    }
    const engine = await adoptCatalog(migration, tenant);
    const adoption = await readAdoptionStatus(context, engine.tenantId);
    report({ adoption });
    return [
      renderAdoption(adoption, engine),
      `To compare both sides: ${operatorCommand('verify')}.`,
      describeNext(await readNext(migration)),
    ].join('\n');
  },
};

/** Ends an adoption. */
export const unadopt: CommandDefinition = {
  name: 'unadopt',
  description:
    'End the adoption of the stock catalog, or of the engine of a tenant.',
  details:
    'The tenant loses its entities. The engine keeps its own.\n' +
    `The way back drops the tables of tenants as well (${operatorCommand(
      'rollback',
      '--to 0',
    )}).\n` +
    'With --tenant, stop its engine first.',
  access: 'change',
  options: [dryRunOption, tenantOption],
  async run(invocation) {
    const { migration, report } = invocation;
    const tenant = await adoptedTenantOf(invocation);
    const changed = await endAdoption(migration.context, tenant);
    report({ changed });
    if (!changed) {
      return 'No catalog is adopted: there was nothing to undo.';
    }
    const { tenantId, slug = tenantId ?? DEFAULT_TENANT_SLUG } = tenant;
    return `Changes of the engine of "${slug}" are not carried any more. The tenant has none of its entities.`;
  },
};
