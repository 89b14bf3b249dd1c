import { operatorCommand, status } from 'backstage-catalog-tenancy-migrations';
import type { CatalogDatabase } from './adoption';

const UNREADABLE =
  'the database user of the catalog may not read which phases are complete. ' +
  `Next: ${operatorCommand('status')}.`;

/** Where the migration stands, for a person; never fails. */
export async function describePhase(
  database: CatalogDatabase,
): Promise<string> {
  // That user may be another one than the operator's.
  const found = await status(database).catch(() => undefined);
  if (!found?.tables.some(({ name }) => name === 'entities')) {
    return UNREADABLE;
  }
  const { phase, phaseBegun, next } = found;
  return [
    phase === 0 ? 'no phase is complete' : `phase ${phase} is complete`,
    phaseBegun ? `, and phase ${phaseBegun} has begun` : '',
    `. Next: ${next.what}`,
    next.command ? ` (${next.command}).` : '.',
  ].join('');
}
