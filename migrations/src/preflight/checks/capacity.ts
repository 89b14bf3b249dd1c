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

/** Free disk for all that the phases write until the cleanup. */
export const freeDisk: PreflightCheck = {
  name: 'free disk',
  scope: 'rows',
  async run(context) {
    const { executor, facts, options } = context;
    if (facts.begunPhase >= 5) {
      return [ok('Not checked: phase 5 has begun, and checks it itself.')];
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

/** A backup, for what no undo can repair. */
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
      failure('A completed backup is not confirmed.', {
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
    // The login may not look: assume that there are rows.
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
