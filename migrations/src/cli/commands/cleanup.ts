import {
  cleanup as dropOldTables,
  RETENTION_HOURS,
} from '../../cleanup/cleanup';
import { scheduleCleanup } from '../../cleanup/schedule';
import type { CommandDefinition } from '../CommandDefinition';
import { forceOption, scheduleOption } from '../options';

/** Drops what only served the way back. */
export const cleanup: CommandDefinition = {
  name: 'cleanup',
  description:
    'Drop the tables of before the swap, the change log and the temporary indexes. After that there is no way back.',
  details: `It refuses to within ${RETENTION_HOURS} hours of the swap.`,
  access: 'change',
  options: [
    forceOption(`do it within ${RETENTION_HOURS} hours of the swap`),
    scheduleOption.conflicts('force'),
  ],
  async run({ migration, options, report }) {
    const { context } = migration;
    if (options.schedule) {
      await scheduleCleanup(context);
      report({ scheduled: !options.dryRun });
      return options.dryRun
        ? 'The job was printed. Nothing was changed.'
        : `pg_cron will clean up ${RETENTION_HOURS} hours after the swap. It leaves everything alone after a rollback.`;
    }
    const dropped = await dropOldTables(context);
    report({ dropped: dropped && !options.dryRun });
    if (!dropped) {
      return 'There was nothing to clean up.';
    }
    return options.dryRun
      ? 'The cleanup was printed. Nothing was changed.'
      : 'The old tables and the change log are gone. The migration is finished.';
  },
};
