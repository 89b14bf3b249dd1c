import type { CatalogDatabase } from '../../../../__testUtils__/catalogDatabase';
import { verifySearchTerms } from '../../../../verify/verify';

/** What "migrate:verify" has to say about the terms; nothing if they are right. */
export function faultsOf(database: CatalogDatabase): Promise<string[]> {
  return database.migrate(({ context }) => verifySearchTerms(context), {
    mode: 'read',
  });
}
