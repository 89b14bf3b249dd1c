import { adopt as adoptCatalog, readAdoptionLosses } from '../../adopt/adopt';
import { readAdoptionStatus, renderAdoption } from '../../adopt/status';
import { unadopt as endAdoption } from '../../adopt/unadopt';
import { operatorCommand } from '../../operatorCommand';
import {
  catalogSchemaOption,
  forceOption,
  keepTablesOption,
  yesOption,
} from '../options';
import type { CommandDefinition } from '../run';

/** Makes the entities of the stock catalog those of the default tenant. */
export const adopt: CommandDefinition = {
  name: 'adopt',
  description:
    "Make the entities of the stock catalog in this database the default tenant's, and keep them so while its engine goes on writing.",
  details:
    'It works before phase 1, and at any phase. Run it again at any time: it goes on where it\n' +
    'was stopped, and tries again what could not be carried. The login has to own the tables\n' +
    'of the catalog, or be a superuser.',
  access: 'change',
  options: [
    catalogSchemaOption,
    forceOption(
      'go on although entities of the default tenant, which the catalog does not have, will be removed',
    ),
    yesOption,
  ],
  async run({ migration, options, settings, report, confirm }) {
    const { context } = migration;
    if (settings.force) {
      await confirm(await readAdoptionLosses(context));
    }
    await adoptCatalog(context);
    if (options.dryRun) {
      return 'The adoption was printed. Nothing was changed.';
    }
    const adoption = await readAdoptionStatus(context);
    report({ adoption });
    const phase = await migration.completedPhase();
    return [
      renderAdoption(adoption),
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
    'End the adoption of the stock catalog, and drop all that was made for it.',
  details:
    'It refuses to while a phase has begun: undo the phases first\n' +
    `(${operatorCommand('rollback', '--to 0')}).\n` +
    'The stock catalog keeps all that it has.',
  access: 'change',
  options: [keepTablesOption],
  async run({ migration, options, report }) {
    const changed = await endAdoption(migration.context, {
      keepTables: options.keepTables,
    });
    report({ changed: changed && !options.dryRun });
    if (!changed) {
      return 'No catalog is adopted: there was nothing to undo.';
    }
    if (options.dryRun) {
      return 'The end of the adoption was printed. Nothing was changed.';
    }
    return options.keepTables
      ? 'Changes of the stock catalog are not carried any more. What was carried stays as it is.'
      : 'The adoption is undone. Nothing of it is left in the database.';
  },
};
