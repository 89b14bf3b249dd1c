import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { StepContext } from '../engine/Step';
import {
  CancelledError,
  ConnectionLostError,
  EXIT_CODES,
  MigrationError,
} from '../errors';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { explainWrite } from './archive';
import { exportFrom } from './export';
import { withPlaces } from './places';
import type { Portal } from './places';

/** Of the time in UTC, as the names of files have it: `20261127T223000Z`, in their order. */
const TIME = '\\d{8}T\\d{6}Z';

/** A file that was not written to for so long is of a run that was killed. */
const ABANDONED_MS = 3_600_000;

/**
 * Exports all tenants but the default one, and keeps so many files of each. A tenant whose export
 * fails keeps its files, and the others are exported.
 *
 * @returns the files that it has written
 * @throws {@link MigrationError} at the end, if one has failed; {@link CancelledError} and
 *   {@link ConnectionLostError} at once
 */
export async function exportAll(
  context: StepContext,
  options: { folder: string; keep: number; portal: Portal },
): Promise<string[]> {
  const { folder, keep, portal } = options;
  await mkdir(folder, { recursive: true }).catch(error => {
    throw explainWrite(folder, error);
  });
  const tenants = await context.executor.read<{ slug: string }>(
    `select tenant_slug as slug from tenants
      where deleted_at is null and tenant_id <> $1 order by 1`,
    [DEFAULT_TENANT_ID],
  );
  const written: string[] = [];
  const failures: string[] = [];
  await withPlaces(context, portal, async places => {
    for (const { slug } of tenants) {
      const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
      const file = join(folder, `${slug}-${time}.gz`);
      try {
        await exportFrom(context, places, { slug, file });
        written.push(file);
        await removeOld(folder, { slug, file, keep });
      } catch (error) {
        if (
          error instanceof CancelledError ||
          error instanceof ConnectionLostError
        ) {
          throw error;
        }
        failures.push(
          `${slug}: ${error instanceof Error ? error.message : error}`,
        );
      }
    }
  });
  if (failures.length > 0) {
    throw new MigrationError(
      `${failures.length} of ${
        tenants.length
      } tenants could not be exported:\n${failures.join('\n')}`,
      EXIT_CODES.unexpected,
    );
  }
  return written;
}

/**
 * Keeps the new file, whatever the clock said before. Also removes what a run has left that was
 * killed; one that is under way goes on writing.
 */
async function removeOld(
  folder: string,
  { slug, file, keep }: { slug: string; file: string; keep: number },
): Promise<void> {
  const names = await readdir(folder);
  const ofTenant = (ending: string) =>
    names.filter(name =>
      new RegExp(`^${slug}-${TIME}\\.gz${ending}$`).test(name),
    );
  const old = ofTenant('')
    .filter(name => name !== basename(file))
    .sort()
    .reverse()
    .slice(keep - 1);
  for (const name of ofTenant('\\..*partial')) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found && found.mtimeMs < Date.now() - ABANDONED_MS) {
      old.push(name);
    }
  }
  for (const name of old) {
    await rm(join(folder, name), { force: true });
  }
}
