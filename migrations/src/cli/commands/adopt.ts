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
    'It works before phase 1, and at any phase. Run it again at any time: it goes on where it\n' +
    'was stopped, and tries again what could not be carried. The login has to own the tables\n' +
    'of the catalog, or be a superuser.\n' +
    'With --tenant it does so for another tenant and its engine, after phase 5.',
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
    'It refuses to while a phase has begun: undo the phases first\n' +
    `(${operatorCommand('rollback', '--to 0')}).\n` +
    'The stock catalog keeps all that it has.\n' +
    'With --tenant the engine of another tenant stops being carried, at any phase: its entities\n' +
    'go from the tenant, unless --keep-tables is given. Stop the engine first.',
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
