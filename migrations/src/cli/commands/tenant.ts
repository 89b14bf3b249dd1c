import { requireTenant } from '../../adopt/engine';
import { OtherOperatorError, UsageError } from '../../errors';
import { requireFile } from '../../tenant/archive';
import { exportFrom } from '../../tenant/export';
import { exportAll } from '../../tenant/exportAll';
import { giveUpImport, importTenant } from '../../tenant/import';
import { makeTablesOf } from '../../tenant/tables';
import { formatCount, formatThings } from '../../text';
import { purgeTenant } from '../../tenant/purge';
import type { PurgeReport } from '../../tenant/purge';
import { withPlaces } from '../../tenant/places';
import type { Portal } from '../../tenant/places';
import { operatorCommand } from '../../operatorCommand';
import { explainConnect } from '../../session/explainConnect';
import { moveToDeployment } from '../../tenant/move';
import { withMigration } from '../../withMigration';
import { resolveDestination, TO_URL_VARIABLE } from '../connection';
import { databaseOption, option, wholeNumber, yesOption } from '../options';
import type { CommandDefinition, Invocation } from '../run';

const DATABASES = `
The databases are those of the configuration (--config); with a URL, name the others by
--database.`.trim();

/** Writes a tenant to a file. */
export const exportCommand: CommandDefinition = {
  name: 'tenant',
  subcommand: 'export',
  arguments: '[slug] [file]',
  description:
    'Write everything of a tenant to a file, as it is at one moment, while it is in use.',
  details: `${DATABASES} With --all, run it by a schedule: it exports each\ntenant to a file of its own, and keeps so many of them.`,
  access: 'read',
  options: [
    option('--all', 'all tenants but the default one, to a folder: --to'),
    option('--to <folder>', 'the folder, which is made where it is missing'),
    option(
      '--keep <number>',
      'with --all: how many files of each tenant are kept (default: 7)',
      wholeNumber(1, 10_000, 'of files'),
    ),
    databaseOption,
  ],
  async run(invocation) {
    const { args, options, migration } = invocation;
    const [slug, file] = args;
    const folder = options.to;
    if (options.all && typeof folder === 'string' && slug === undefined) {
      return exportEach(invocation, folder);
    }
    if (
      options.all ||
      folder !== undefined ||
      options.keep !== undefined ||
      file === undefined
    ) {
      throw new UsageError(
        'Give a slug and a file, such as "acme acme.gz", or --all with --to <folder>. --keep goes with --all.',
      );
    }
    await migration.requireProductTables();
    const { context } = migration;
    await requireFile(file, 'written');
    const { tenantId, rows } = await withPlaces(
      context,
      portalOf(invocation),
      places => exportFrom(context, places, { slug, file }),
    );
    invocation.report({ tenantId, file, rows });
    return `The tenant "${slug}" is in ${file}: ${formatRows(rows)}.`;
  },
};

async function exportEach(
  invocation: Invocation,
  folder: string,
): Promise<string> {
  await invocation.migration.requireProductTables();
  const files = await exportAll(invocation.migration.context, {
    folder,
    keep: invocation.options.keep ?? 7,
    portal: portalOf(invocation),
  });
  invocation.report({ files });
  return `${formatThings(files.length, 'tenant')} exported to ${folder}.`;
}

/** Makes a tenant of a file. */
export const importCommand: CommandDefinition = {
  name: 'tenant',
  subcommand: 'import',
  arguments: '<file>',
  description:
    'Make a tenant from an export, here or in another portal, as a whole or not at all.',
  details: `${DATABASES} Run it in the repository of the portal, whose packages make the
tables. Stop the command at any time, and run it again.`,
  access: 'change',
  options: [
    option(
      '--slug <slug>',
      'the slug of the tenant that is made (default: the one in the file)',
    ),
    option(
      '--replace',
      'put what the file has in the place of what the same tenant has now',
    ).conflicts('slug'),
    option(
      '--give-up',
      'remove what this import has left behind, where it was stopped',
    ).conflicts('replace'),
    yesOption,
    databaseOption,
  ],
  async run(invocation) {
    const { args, options, migration } = invocation;
    const { context } = migration;
    const [file] = args;
    const portal = portalOf(invocation);
    await migration.requireProductTables();
    if (options.giveUp) {
      const { slug } = options;
      const given = await giveUpImport(context, { file, slug, portal });
      return `Nothing is left of the import of "${given}".`;
    }
    const { tenantId, slug, rows } = await importTenant(context, {
      file,
      slug: options.slug,
      replace: options.replace,
      confirm: async target =>
        options.replace &&
        invocation.confirm(
          [`what the tenant "${target.slug}" has now`],
          target.slug,
        ),
      portal,
      makeTables: makeTablesOf(context.settings.schema),
    });
    invocation.report({ tenantId, slug, rows });
    return `The tenant "${slug}" is there: ${formatRows(rows)}.`;
  },
};

/** Brings a tenant to another deployment. */
export const move: CommandDefinition = {
  name: 'tenant',
  subcommand: 'move',
  arguments: '<slug>',
  description:
    'Bring a tenant to another deployment. It is in use here until all of it is there, and read-only for the last seconds.',
  details: `${DATABASES} Run it in the repository of the destination, whose packages make the
tables. Stop the command at any time, and run it again.`,
  access: 'change',
  options: [
    option(
      '--to-url <url>',
      `the database of the destination; safer in ${TO_URL_VARIABLE}`,
    ).conflicts('toConfig'),
    option(
      '--to-config <file>',
      'a configuration file of the destination; may be repeated',
      (file, files: string[] = []) => [...files, file],
    ),
    databaseOption,
  ],
  async run(invocation) {
    const { migration, settings, options, args, report, reporter } = invocation;
    await migration.requireProductTables();
    // It may be named by its id.
    const tenant = await requireTenant(migration.context, args[0]);
    const { slug } = tenant;
    const { config, secrets, backstage, fault } = await resolveDestination(
      options,
    );
    invocation.conceal(secrets);
    if (fault) {
      throw explainConnect(fault, config);
    }
    const readOnlyMs = await withMigration(
      {
        ...settings,
        schema:
          backstage?.getOptionalString('tenancy.schema') ?? options.schema,
        connection: config,
        reporter,
      },
      { command: 'tenant move', mode: 'change' },
      async destination => {
        await destination.requireProductTables();
        return moveToDeployment(migration.context, {
          tenant,
          portal: portalOf(invocation),
          to: {
            context: destination.context,
            portal: { config: backstage, databases: options.database },
          },
          makeTables: makeTablesOf(destination.context.settings.schema),
        });
      },
    ).catch(error => {
      // It has met the lock of this very command.
      throw error instanceof OtherOperatorError &&
        error.message.includes(`process ${migration.context.serverPid} of`)
        ? new UsageError(
            'The destination is the database that the tenant is in. Give that of the other deployment.',
          )
        : error;
    });
    if (readOnlyMs === undefined) {
      return `The tenant "${slug}" was moved before.`;
    }
    const seconds = Math.round(readOnlyMs / 100) / 10;
    report({ slug, readOnlySeconds: seconds });
    return [
      `The tenant "${slug}" is in use at the destination. It was read-only for ${seconds} s.`,
      `Here it is deleted: purge it with "${operatorCommand(
        'tenant',
        `purge ${slug} --now`,
      )}".`,
    ].join('\n');
  },
};

function portalOf({ backstage, options }: Invocation): Portal {
  return { config: backstage, databases: options.database };
}

function formatRows(rows: Record<string, number>): string {
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return `${formatCount(
    rows['registry entities'] ?? 0,
  )} entities, ${formatThings(total, 'row')} in all`;
}

/** Removes a deleted tenant for good. */
export const purge: CommandDefinition = {
  name: 'tenant',
  subcommand: 'purge',
  arguments: '<slug>',
  description:
    'Remove everything of a deleted tenant, after its retention, and search all databases for what is left.',
  details: `${DATABASES} The slug stays taken. Stop the command at any time, and run it again.`,
  access: 'change',
  options: [
    option(
      '--now',
      'do not wait until entity_ttl_days are over since the deletion',
    ),
    yesOption,
    databaseOption,
  ],
  async run(invocation) {
    const { migration, options, args, backstage, report, confirm } = invocation;
    const [slug] = args;
    await migration.requireProductTables();
    const purged = await purgeTenant(migration.context, {
      slug,
      now: options.now,
      portal: portalOf(invocation),
      confirm: () =>
        confirm(
          [
            `everything of the tenant "${slug}", in ${
              backstage
                ? 'every database of the portal'
                : 'the databases that are given, but not what TechDocs has of it: that takes --config'
            }`,
          ],
          slug,
        ),
    });
    if (!purged) {
      return `The tenant "${slug}" was purged before.`;
    }
    report({ ...purged });
    return renderPurge(slug, purged, backstage !== undefined);
  },
};

function renderPurge(
  slug: string,
  { rows, schemas, folders, elsewhere, unread }: PurgeReport,
  isPortal: boolean,
): string {
  const counts = Object.entries(rows).map(
    ([table, count]) => `${table}: ${formatCount(count)}`,
  );
  const places = unread.map(({ database, place }) => `${database} ${place}`);
  const sections: [title: string, lines: string[]][] = [
    ['Rows:', counts],
    ['Schemas:', schemas],
    ['Documents:', folders],
    ['Remove the documents with:', elsewhere],
    ['The login may not read these, which were not searched:', places],
  ];
  return [
    ...sections
      .filter(([, lines]) => lines.length > 0)
      .flatMap(([title, lines]) => [title, ...lines.map(each => `- ${each}`)]),
    `Nothing is left of the tenant "${slug}"${
      isPortal ? '' : ' in the databases that were searched'
    }. Its slug stays taken, and backups keep what they have.`,
  ].join('\n');
}
