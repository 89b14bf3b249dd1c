import {
  type AdoptionStatus,
  operatorCommand,
} from 'backstage-catalog-tenancy-migrations';
import { LAST_PHASE } from '../tables';
import { TenancyStartupError } from '../TenancyStartupError';

/** All that takes a live catalog to where its tenants can be served, in order. */
export const WHOLE_WAY = [
  operatorCommand('adopt'),
  ...Array.from({ length: LAST_PHASE }, (_, index) =>
    operatorCommand(`phase${index + 1}`),
  ),
];

/** A catalog in use is an operator's to adopt, at a time that suits. */
export function refuseToAdopt(
  engineEntities: number,
  commands: string[],
): TenancyStartupError {
  const entities = engineEntities === 1 ? 'entity' : 'entities';
  return new TenancyStartupError(
    `The catalog has ${engineEntities} ${entities} and is not adopted, so that the ` +
      'default tenant would look empty. The backend never migrates or adopts a ' +
      `catalog in use by itself. Run ${commands.join(
        ', then ',
      )}, while the portal ` +
      'runs with MULTI_TENANCY_ENABLED=false; then start with ' +
      'MULTI_TENANCY_ENABLED=true.',
  );
}

/** What was not carried over so far would look as if it were not there. */
export function refuseHalfAdopted({
  tablesWithoutTriggers: tables,
}: AdoptionStatus): TenancyStartupError {
  const what =
    tables.length > 0
      ? `of which changes of ${tables.join(', ')} are not carried over`
      : 'and that has not come to its end';
  return new TenancyStartupError(
    `The adoption of the catalog was begun, ${what}. Run ` +
      `${operatorCommand('adopt')} again; until then, set ` +
      'MULTI_TENANCY_ENABLED=false.',
  );
}
