import { forgetStatement } from '../engine/journal';
import { operatorCommand } from '../operatorCommand';
import { ready } from '../phases/phase5_partitions/97_ready';
import {
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  MEMBERS_TABLE,
  PROCESSES_TABLE,
  READY_TABLE,
  SEARCH_TABLES,
  TENANT_TABLES,
} from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { findingsOfRoles, readActors, readUser } from './actors';
import type { IsolationFinding, QueryRows } from './Finding';
import {
  deviationsOfRights,
  findingsOfOwners,
  findingsOfRights,
  findMissing,
  readRights,
} from './privileges';
import {
  deviationsOf,
  findHidden,
  findingsOfTable,
  findingsOfTenantRequired,
  readPolicies,
  readTables,
} from './tables';
import { findingsOfReaders } from './readers';
import {
  findingsOfCatalogs,
  findingsOfMembers,
  findingsOfSettings,
  findingsOfTriggers,
  warningsOfUnknown,
} from './waysAround';

/**
 * How well a database keeps tenants apart from each other.
 *
 * @public
 */
export interface Isolation {
  /** Missing rights of the database user, and missing tables. */
  missing: IsolationFinding[];
  /** Ways by which the database user could read or change rows of another tenant. */
  findings: IsolationFinding[];
  /** Differences from the migration's objects that give the database user no access. */
  deviations: IsolationFinding[];
  /** Objects whose effect PostgreSQL's catalogs do not tell. */
  warnings: IsolationFinding[];
}

/**
 * Examines whether the isolation of tenants is in place, and whether a database user can
 * bypass it. It reads PostgreSQL's catalogs only, and locks nothing.
 *
 * The backend refuses to serve tenants if something is missing or found; `verify` reports
 * both, and the deviations.
 *
 * @param options - with `read`, which runs a query on a connection whose `search_path`
 * begins with the schema of the tables; and `isPartitioned`, whether phase 5 has put its
 * tables in place
 * @public
 */
export async function examineIsolation(options: {
  read: QueryRows;
  schema: string;
  /** The database user as which the application connects. */
  user: string;
  isPartitioned: boolean;
}): Promise<Isolation> {
  const { read, schema, isPartitioned } = options;
  const user = await readUser(read, options.user);
  if (!user) {
    return {
      missing: [roleMissing(options.user)],
      findings: [],
      deviations: [],
      warnings: [],
    };
  }
  const actors = await readActors(read, user, { schema });
  const tables = await readTables(read, schema);
  const rights = await readRights(read, actors, tables);
  const policies = await readPolicies(read, schema, tables);
  const wanted = [
    ...TENANT_TABLES,
    ...(isPartitioned
      ? [
          ...SEARCH_TABLES,
          MEMBERS_TABLE,
          ENGINES_TABLE,
          PROCESSES_TABLE,
          LEASES_TABLE,
          ENGINE_STATUS_TABLE,
        ]
      : []),
  ];
  const absent = wanted.filter(
    name => !tables.some(table => table.name === name),
  );
  const guarded = tables.filter(
    ({ oid, kind }) =>
      kind === 'own' ||
      kind === 'search' ||
      // The other side of a swap counts if the application has a right to it.
      (kind === 'side' &&
        rights.some(right => right.table === oid && right.actors.length > 0)),
  );
  return {
    missing: [
      ...(await findMissing(read, actors, tables, schema)),
      ...findHidden(tables),
      ...(absent.length > 0
        ? [
            {
              problem: `There is no ${absent.join(', ')} in schema "${schema}"`,
              remedy:
                `run "${operatorCommand(
                  'phase5',
                )}", also where it was run before: ` +
                'it does what is left to do',
            },
          ]
        : []),
      ...(isPartitioned ? await findNotReady(read, schema) : []),
    ],
    findings: [
      ...findingsOfRoles(actors),
      ...(policies.adminBypasses
        ? []
        : await findingsOfMembers(read, actors, schema)),
      ...(await findingsOfOwners(read, actors, tables)),
      ...findingsOfRights(actors, tables, rights),
      ...guarded.flatMap(table => findingsOfTable(table, policies, schema)),
      ...findingsOfTenantRequired(policies, schema),
      ...(await findingsOfReaders(
        read,
        actors,
        // The registry of tenants, their members, engines and leases hold no secrets.
        tables.filter(
          ({ kind }) =>
            !['registry', 'members', 'engines', 'leases'].includes(kind),
        ),
      )),
      ...(await findingsOfTriggers(read, actors, tables)),
      ...(await findingsOfCatalogs(read, actors)),
      ...(await findingsOfSettings(read, actors)),
    ],
    deviations: [
      ...deviationsOf(tables, policies, schema),
      ...deviationsOfRights(actors, tables, rights),
    ],
    warnings: await warningsOfUnknown(read, actors, schema),
  };
}

/** The rights that the database user needs and does not have. */
export async function findMissingRights(options: {
  read: QueryRows;
  schema: string;
  user: string;
}): Promise<IsolationFinding[]> {
  const { read, schema } = options;
  const user = await readUser(read, options.user);
  return user
    ? findMissing(read, user, await readTables(read, schema), schema)
    : [roleMissing(options.user)];
}

/** A backend serves no tenant without {@link READY_TABLE}. */
async function findNotReady(
  read: QueryRows,
  schema: string,
): Promise<IsolationFinding[]> {
  const [found] = await read<{ isThere: boolean }>(
    `select exists (select from pg_class c
                     where c.relnamespace = n.oid and c.relname = $2) as "isThere"
       from pg_namespace n where n.nspname = $1`,
    [schema, READY_TABLE],
  );
  return found?.isThere
    ? []
    : [
        {
          problem: `There is no ${READY_TABLE} in schema "${schema}"`,
          remedy:
            `run "${operatorCommand(
              'phase5',
            )}", which creates it; if there is ` +
            `nothing left to do for that, "${forgetStatement(ready)}" first`,
        },
      ];
}

function roleMissing(name: string): IsolationFinding {
  return {
    problem: `There is no role ${name}`,
    remedy: `run "create role ${escapeIdentifier(
      name,
    )} login noinherit", and this again`,
  };
}

/**
 * A finding as a sentence, and what to run below it.
 *
 * @public
 */
export function describeFinding({
  problem,
  remedy,
  script,
}: IsolationFinding): string {
  const statements = script
    ?.split('\n')
    .map(line => `\n    ${line}`)
    .join('');
  return statements
    ? `${problem}: ${remedy}:${statements}`
    : `${problem}: ${remedy}.`;
}
