import { unadopt as endAdoption } from '../../adopt/unadopt';
import type { CommandDefinition } from '../CommandDefinition';
import { keepTablesOption } from '../options';
import { operatorCommand } from '../../operatorCommand';

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
