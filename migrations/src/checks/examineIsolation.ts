import { APP_ROLE } from '../roles';
import { run } from './Finding';
import type { IsolationFinding, QueryRows } from './Finding';
import { CHECKS } from './isolation';
import type { Check, Fault } from './isolation';
import { SUBJECTS, subjectValues } from './subjects';

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
}

/**
 * What {@link examineIsolation} looks at.
 *
 * @public
 */
export interface IsolationOptions {
  /** Runs a query on a connection whose `search_path` begins with the schema. */
  read: QueryRows;
  /** The schema of the tables. */
  schema: string;
  /** The database user as which the application connects. */
  user: string;
  /** Whether phase 5 has put its tables in place. */
  isPartitioned: boolean;
}

/**
 * Examines whether the isolation of tenants is in place, and whether a database user can
 * bypass it. It reads PostgreSQL's catalogs only, and locks nothing.
 *
 * The backend refuses to serve tenants if something is missing or found; `verify` reports
 * both, and the deviations.
 *
 * @public
 */
export async function examineIsolation(
  options: IsolationOptions,
): Promise<Isolation> {
  const { read, schema, user } = options;
  const found: { level: Check['level']; finding: IsolationFinding }[] = [];
  for (const check of CHECKS) {
    const faults = await read<Omit<Fault, 'schema'>>(
      `${SUBJECTS} ${check.sql}`,
      subjectValues(options),
    );
    found.push(
      ...faults.map(fault => ({
        level: check.level,
        finding: findingOf(check, { ...fault, schema }, user),
      })),
    );
  }
  const ofLevel = (level: Check['level']) =>
    found.filter(each => each.level === level).map(({ finding }) => finding);
  return {
    missing: ofLevel('missing'),
    findings: ofLevel('findings'),
    deviations: ofLevel('deviations'),
  };
}

function findingOf(
  { message, fix }: Check,
  fault: Fault,
  user: string,
): IsolationFinding {
  const text = message(fault);
  const { remedy, script } = fix?.(fault) ?? {
    remedy: run(...(fault.run ?? [])),
    script: undefined,
  };
  const finding = { remedy, ...(script ? { script } : {}) };
  if (fault.who === undefined) {
    return { ...finding, problem: text };
  }
  if (fault.who !== null) {
    return {
      ...finding,
      problem: `The role ${fault.who}, which the database user '${user}' may act as, ${text}`,
    };
  }
  const alternative =
    'let the backend connect as ' +
    `${APP_ROLE} (tenancy.database.connection.user and .password), or `;
  return {
    problem: `The database user '${user}' ${text}`,
    remedy: user === APP_ROLE ? remedy : alternative + remedy,
    ofUser: text,
  };
}
