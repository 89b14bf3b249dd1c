import { adopt as adoptCatalog, readAdoptionLosses } from '../../adopt/adopt';
import type { AdoptedTenant } from '../../adopt/adopt';
import { requireTenant } from '../../adopt/engine';
import {
  describeEngines,
  readAdoptionStatus,
  renderAdoption,
} from '../../adopt/status';
import { unadopt as endAdoption } from '../../adopt/unadopt';
import { operatorCommand } from '../../operatorCommand';
import { DEFAULT_TENANT_SLUG } from '../../schema/tables';
import {
  catalogSchemaOption,
  forceOption,
  keepTablesOption,
  tenantOption,
  yesOption,
} from '../options';
import type { CommandDefinition, Invocation } from '../run';

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
    "Make the entities of the stock catalog in this database the default tenant's, and keep them so while its engine goes on writing.",
  details:
    'Run again, it goes on, and retries what could not be carried.\n' +
    'The login has to own the tables of the catalog, or be a superuser.',
  access: 'change',
  options: [
    tenantOption,
    catalogSchemaOption,
    forceOption(
      'go on although entities of the tenant, which the catalog does not have, will be removed',
    ),
    yesOption,
  ],
  async run(invocation) {
    const { migration, options, settings, report, confirm } = invocation;
    const { context } = migration;
    const tenant = await tenantOf(invocation);
    if (settings.force) {
      await confirm(await readAdoptionLosses(context, tenant));
    }
    const engine = await adoptCatalog(context, tenant);
    if (options.dryRun) {
      return 'The adoption was printed. Nothing was changed.';
    }
    const adoption = await readAdoptionStatus(context, engine.tenantId);
    report({ adoption });
    const phase = await migration.completedPhase();
    return [
      renderAdoption(adoption, engine),
      phase < 5
        ? `Next: ${operatorCommand(`phase${phase + 1}`)} with the same options.`
        : `To compare both sides by checksums: ${operatorCommand('verify')}.`,
    ].join('\n');
  },
};

/** Ends an adoption. */
export const unadopt: CommandDefinition = {
  name: 'unadopt',
  description:
    'End the adoption of the stock catalog, or of the engine of a tenant, and drop all that was made for it.',
  details:
    `Undo the phases first (${operatorCommand('rollback', '--to 0')}).\n` +
    'With --tenant, stop its engine first: its entities go, unless --keep-tables is given.',
  access: 'change',
  options: [tenantOption, keepTablesOption],
  async run(invocation) {
    const { migration, options, report } = invocation;
    const tenant = await adoptedTenantOf(invocation);
    const changed = await endAdoption(migration.context, {
      ...tenant,
      keepTables: options.keepTables,
    });
    report({ changed: changed && !options.dryRun });
    if (!changed) {
      return 'No catalog is adopted: there was nothing to undo.';
    }
    if (options.dryRun) {
      return 'The end of the adoption was printed. Nothing was changed.';
    }
    const { tenantId, slug = tenantId } = tenant;
    if (slug) {
      return `Changes of the engine of "${slug}" are not carried any more. ${
        options.keepTables
          ? 'What was carried stays as it is.'
          : 'The tenant has none of its entities.'
      }`;
    }
    return options.keepTables
      ? 'Changes of the stock catalog are not carried any more. What was carried stays as it is.'
      : 'The adoption is undone. Nothing of it is left in the database.';
  },
};
