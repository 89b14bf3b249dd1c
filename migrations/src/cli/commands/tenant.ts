import { formatCount } from '../../text';
import { describeTrace, purgeTenant } from '../../tenant/purge';
import type { PurgeReport } from '../../tenant/purge';
import { databaseOption, nowOption, yesOption } from '../options';
import type { CommandDefinition } from '../run';

/** Removes a deleted tenant for good. */
export const purge: CommandDefinition = {
  name: 'tenant',
  subcommand: 'purge',
  arguments: '<slug>',
  description:
    'Remove everything of a deleted tenant, after its retention, and search all databases for what is left.',
  details:
    'The databases are those of the configuration (--config); with a URL, name the others by\n' +
    '--database. The slug stays taken. Stop the command at any time, and run it again.',
  access: 'change',
  options: [nowOption, yesOption, databaseOption],
  async run({ migration, options, args, backstage, report, confirm }) {
    const [slug] = args;
    const purged = await purgeTenant(migration.context, {
      slug,
      now: options.now,
      portal: { config: backstage, databases: options.database },
      confirm: () =>
        confirm(
          [
            `everything of the tenant "${slug}", in every database of the portal`,
          ],
          slug,
        ),
    });
    if (!purged) {
      return `The tenant "${slug}" was purged before.`;
    }
    report({ ...purged });
    return renderPurge(slug, purged, options.dryRun);
  },
};

function renderPurge(
  slug: string,
  { rows, schemas, folders, elsewhere, mentions, unread }: PurgeReport,
  dryRun?: boolean,
): string {
  const section = (title: string, lines: string[]) =>
    lines.length > 0 ? [title, ...lines] : [];
  return [
    ...section(
      'Rows:',
      Object.entries(rows).map(
        ([table, count]) => `- ${table}: ${formatCount(count)}`,
      ),
    ),
    ...section(
      'Schemas:',
      schemas.map(name => `- ${name}`),
    ),
    ...section(
      'Folders:',
      folders.map(path => `- ${path}`),
    ),
    ...section(
      'Remove these with the tools of their provider:',
      elsewhere.map(place => `- ${place}`),
    ),
    ...section(
      `Others mention people of the tenant, as user:${slug}/…:`,
      mentions.map(describeTrace),
    ),
    ...section(
      'The login may not read these, which were not searched:',
      unread.map(({ database, place }) => `- ${database} ${place}`),
    ),
    ...(dryRun
      ? []
      : [
          `Nothing is left of the tenant "${slug}". Its slug stays taken, and backups keep what they have.`,
        ]),
  ].join('\n');
}
