import type { CatalogDatabase } from '../../../../__testUtils__/catalogDatabase';
import { searchTerms } from '../../../../verify/checks/searchTerms';

/** What "migrate:verify" has to say about the terms; nothing if they are right. */
export function faultsOf(database: CatalogDatabase): Promise<string[]> {
  return database.migrate(({ context }) => searchTerms.examine(context), {
    mode: 'read',
  });
}
