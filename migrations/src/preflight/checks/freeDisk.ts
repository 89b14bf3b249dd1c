import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import { measureNeeds, UnknownServerError } from '../diskSpace';
import type { DiskNeed } from '../diskSpace';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { formatBytes } from '../../text';

/** Copy, indexes that are built for it, and the rows that the backfill leaves. */
const COPY_FACTOR = 1.5;

/** Room for the second copy of the three tables, which phase 5 makes. */
export const freeDisk: PreflightCheck = {
  name: 'free disk',
  scope: 'tables',
  async run(context) {
    if (context.facts.begunPhase >= 5) {
      return [ok('Not looked at: phase 5 is making the copy already.')];
    }
    const needs = await readNeeds(context);
    const { freeDiskBytes } = context.options;
    const needed = needs.reduce((sum, { bytes }) => sum + bytes, 0);
    if (freeDiskBytes !== undefined) {
      return [judge({ needed, free: freeDiskBytes, where: 'as given' })];
    }
    try {
      const filesystems = await measureNeeds(context, needs);
      return filesystems.map(judge);
    } catch (error) {
      if (!(error instanceof UnknownServerError)) {
        throw error;
      }
      return [
        warning(
          `The copy needs ${formatBytes(
            needed,
          )}, and the free disk could not be ` + `measured: ${error.message}.`,
          {
            advice:
              'Look it up on the server, and give it with --free-disk, such as --free-disk 500GB.',
          },
        ),
      ];
    }
  },
};

function judge({
  needed,
  free,
  where,
}: {
  needed: number;
  free: number;
  where: string;
}): Outcome {
  const figures = `the copy needs ${formatBytes(needed)}, and ${formatBytes(
    free,
  )} are free (${where})`;
  return free < needed
    ? failure(`Too little room: ${figures}.`, {
        advice: 'Give the server more disk, or make room on it.',
        details: [{ needed, free, where }],
      })
    : ok(`Enough room: ${figures}.`, { details: [{ needed, free, where }] });
}

/** What is needed where: for each tablespace of the tables, and for the log. */
async function readNeeds({
  executor,
  facts,
}: PreflightContext): Promise<DiskNeed[]> {
  const tables = await executor.read<{ location: string; bytes: number }>(
    `select pg_tablespace_location(
              coalesce(nullif(c.reltablespace, 0), d.dattablespace)) as location,
            sum(pg_total_relation_size(c.oid))::float8 as bytes
       from pg_class c, pg_database d
      where c.oid = any ($1) and d.datname = current_database()
      group by 1 order by 1`,
    [facts.tables.map(({ oid }) => oid)],
  );
  const [{ log }] = await executor.read<{ log: number }>(
    `select pg_size_bytes(current_setting('max_wal_size'))::float8 as log`,
  );
  return [
    ...tables.map(({ location, bytes }) => ({
      location: location || '.',
      bytes: bytes * COPY_FACTOR,
    })),
    // The write-ahead log of a burst of writes grows to about that size.
    { location: 'pg_wal', bytes: log },
  ];
}
