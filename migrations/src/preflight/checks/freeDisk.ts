import { describeNeeds, estimateNeeds } from '../../disk/needs';
import {
  describeRoom,
  isShort,
  measureNeeds,
  reserveOf,
  UnknownServerError,
} from '../../disk/space';
import type { DiskRoom } from '../../disk/space';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { formatBytes } from '../../text';

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
        judge(what, {
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
        judge(
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

function judge(what: string, room: DiskRoom): Outcome {
  const figures = `${what}; ${describeRoom(room)}`;
  return isShort(room)
    ? failure(`Too little room. ${figures}.`, {
        advice: 'Give the server more disk, or make room on it.',
        details: [room],
      })
    : ok(`Enough room. ${figures}.`, { details: [room] });
}
