import { describeNeeds, estimateNeeds } from '../../disk/needs';
import {
  UnknownServerError,
  describeRoom,
  isShort,
  measureNeeds,
  reserveOf,
} from '../../disk/space';
import type { DiskRoom } from '../../disk/space';
import { formatBytes } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** Room for all that the phases write before anything is given back. */
export const freeDisk: PreflightCheck = {
  name: 'free disk',
  scope: 'rows',
  async run(context) {
    const { executor, facts, options } = context;
    if (facts.begunPhase >= 5) {
      return [
        ok('Not looked at: phase 5 has begun, and looks at it by itself.'),
      ];
    }
    const needs = await estimateNeeds(executor, facts);
    const what = `The migration needs ${describeNeeds(needs)}`;
    const needed = needs.reduce((sum, { bytes }) => sum + bytes, 0);
    if (options.freeDiskBytes !== undefined) {
      return [
        judgeRoom(what, {
          needed,
          reserve: reserveOf(needed),
          free: options.freeDiskBytes,
          where: 'as given',
        }),
      ];
    }
    try {
      const rooms = await measureNeeds(executor, needs);
      return rooms.map(room =>
        judgeRoom(
          rooms.length === 1
            ? what
            : `${what}, of which ${formatBytes(room.needed)} there`,
          room,
        ),
      );
    } catch (error) {
      if (!(error instanceof UnknownServerError)) {
        throw error;
      }
      return [
        warning(
          `${what}, and the free disk could not be measured: ${error.message}.`,
          {
            advice:
              'Look it up on the server, and give it with --free-disk, such as --free-disk 500GB.',
          },
        ),
      ];
    }
  },
};

function judgeRoom(what: string, room: DiskRoom): Outcome {
  const figures = `${what}; ${describeRoom(room)}`;
  return isShort(room)
    ? failure(`Too little room. ${figures}.`, {
        advice: 'Give the server more disk, or make room on it.',
        details: [room],
      })
    : ok(`Enough room. ${figures}.`, { details: [room] });
}

/** There is a way back from what no undo can mend. */
export const backup: PreflightCheck = {
  name: 'backup',
  scope: 'server',
  async run(context) {
    if (context.options.backupCompleted) {
      return [ok('A completed backup is confirmed.')];
    }
    if (!(await holdsRows(context))) {
      return [
        ok(
          'The tables to migrate have no rows yet that a backup would have to hold.',
        ),
      ];
    }
    return [
      failure('Nobody has confirmed that a backup is complete.', {
        advice:
          'Back up the database, see that it can be restored, and give --backup-completed.',
      }),
    ];
  },
};

async function holdsRows({
  executor,
  facts,
}: PreflightContext): Promise<boolean> {
  for (const { sql, readable } of facts.tables) {
    // Where the login may not look, rows have to be reckoned with.
    if (!readable) {
      return true;
    }
    const [{ found }] = await executor.read<{ found: boolean }>(
      `select exists (select from ${sql}) as found`,
    );
    if (found) {
      return true;
    }
  }
  return false;
}
