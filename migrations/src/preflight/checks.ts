import { readAdoptionStatus } from '../adopt/status';
import { examineRule } from '../checks/Rule';
import type { Rule } from '../checks/Rule';
import { ROW_RULES } from '../checks/rows';
import { SERVER_RULES } from '../checks/server';
import { columns, SHAPE_RULES, storage } from '../checks/shape';
import { Journal } from '../engine/journal';
import { takenNames } from '../engine/ownership';
import { recordedBy } from '../engine/ProductMigration';
import { namesTaken } from '../errors';
import { phases } from '../phases';
import { ADMIN_ROLE, APP_ROLE } from '../roles';
import {
  leftToSuperuserStatements,
  othersRoles,
  readRoleAccess,
} from '../schema/roleAccess';
import { TENANT_TABLES } from '../schema/tables';
import { missingTables } from '../schema/tableFacts';
import { escapeIdentifier } from '../sql';
import { describeCatalog } from '../status/next';
import { formatBytes, script } from '../text';
import type { Outcome, PreflightCheck } from './PreflightCheck';

/** A check of rules of the server or of the tables, which have one name. */
function ofRules(
  scope: PreflightCheck['scope'],
  ...rules: readonly Rule[]
): PreflightCheck {
  return {
    name: rules[0].name,
    scope,
    async run(context) {
      const outcomes: Outcome[] = [];
      for (const rule of rules) {
        const found = await examineRule(context, rule, context.begun);
        if (found) {
          const { names: details, ...difference } = found;
          outcomes.push({ ...difference, details, level: rule.level });
        }
      }
      return outcomes;
    },
  };
}

const ok = (message: string): Outcome[] => [{ level: 'ok', message }];

const STATEMENTS = 20;

/** One process of the server serves all of the session, and only this session. */
const connection: PreflightCheck = {
  name: 'connection',
  scope: 'server',
  async run({ executor, serverPid, settings }) {
    const pids = new Set<number>();
    for (let each = 0; each < STATEMENTS; each += 1) {
      const [{ pid }] = await executor.read<{ pid: number }>(
        'select pg_backend_pid() as pid',
      );
      pids.add(pid);
    }
    // An idle pooler hands out the same connection each time, but its greeting names another
    // process.
    const isOther = serverPid !== undefined && !pids.has(serverPid);
    if (pids.size === 1 && !isOther) {
      return [];
    }
    // Pooling by the session does no harm, and cannot be told apart.
    const isForced = settings.force && pids.size === 1;
    return [
      {
        level: isForced ? 'warning' : 'failure',
        message: `Something pools the connections: the command got ${
          pids.size === 1 ? 'one that was open before' : `${pids.size} of them`
        }.`,
        advice:
          'Connect to the server itself, or give --force if it pools by the session.',
      },
    ];
  },
};

/** The login may set up the two roles, which are those of this product. */
const roles: PreflightCheck = {
  name: 'roles',
  scope: 'server',
  async run(context) {
    const access = await readRoleAccess(context);
    const others = othersRoles(access);
    const statements =
      others?.statements ??
      (await leftToSuperuserStatements(context, access, context.schemaExists));
    return statements.length === 0
      ? []
      : [
          {
            level: 'failure',
            message:
              others?.problem ??
              `The login may not set up the roles ${ADMIN_ROLE} and ${APP_ROLE}.`,
            advice: others
              ? 'Rename them, or run this if they are meant for this product.'
              : 'Let a superuser run this.',
            sql: script(statements),
          },
        ];
  },
};

/** What the phases write until the cleanup, by the size of what they copy. */
const NEEDED_PER_COPIED = 2.5;

const disk: PreflightCheck = {
  name: 'free disk',
  scope: 'tables',
  async run({ executor, tables }) {
    const [{ bytes }] = await executor.read<{ bytes: number }>(
      `select sum(pg_total_relation_size(oid))::float8 as bytes
         from pg_class where oid = any ($1)`,
      [tables.map(({ oid }) => oid)],
    );
    const needed = formatBytes(bytes * NEEDED_PER_COPIED);
    return ok(
      `The migration needs about ${needed} of free disk on the server.`,
    );
  },
};

/** A backup, for what no undo can repair. */
const backup: PreflightCheck = {
  name: 'backup',
  scope: 'server',
  async run({ executor, settings, tables, backupCompleted }) {
    if (backupCompleted) {
      return ok('A completed backup is confirmed.');
    }
    const schema = escapeIdentifier(settings.schema);
    for (const { name, readable } of tables) {
      // The login may not look: assume that there are rows.
      if (
        !readable ||
        (await executor.read(`select from ${schema}.${name} limit 1`)).length >
          0
      ) {
        return [
          {
            level: 'failure',
            message: 'A completed backup is not confirmed.',
            advice:
              'Back up the database, see that it can be restored, and give --backup-completed.',
          },
        ];
      }
    }
    return ok('The tables have no rows yet.');
  },
};

/** The names of all that the migration creates are free, or its own. */
const names: PreflightCheck = {
  name: 'names',
  scope: 'server',
  async run(context) {
    const journal = await Journal.read(context.executor, recordedBy(phases));
    const taken = await takenNames(context, journal);
    return taken.length === 0
      ? []
      : [
          {
            level: 'failure',
            message: namesTaken(taken).message,
            details: taken,
          },
        ];
  },
};

/** All three tables exist, or none, and they are ordinary tables. */
const allTables: PreflightCheck = {
  name: 'tables',
  scope: 'server',
  async run(context) {
    const { schema } = context.settings;
    if (context.swapped) {
      return ok('The partitioned tables of phase 5 are in place.');
    }
    const missing = missingTables(context.tables);
    if (missing.length === 0) {
      return ofRules('tables', storage).run(context);
    }
    if (missing.length < TENANT_TABLES.length) {
      return [
        {
          level: 'failure',
          message: `The schema ${schema} has no ${missing.join(' and no ')}.`,
          advice: `Expected all of ${TENANT_TABLES.join(
            ', ',
          )}, or none: give the --schema that has them, or another one.`,
        },
      ];
    }
    const adoption = await readAdoptionStatus(context);
    const beside = adoption.engineTables
      ? `they are created beside ${describeCatalog(adoption)}`
      : 'a fresh database, or give the --schema that has them';
    return ok(`The schema ${schema} has none of the three tables: ${beside}.`);
  },
};

/** What rows must satisfy. */
const rows: PreflightCheck = {
  name: 'rows',
  scope: 'tables',
  async run(context) {
    const { tables } = context;
    const unreadable = tables.filter(({ readable }) => !readable);
    if (unreadable.length > 0) {
      return [
        {
          level: 'warning',
          message: `Not looked at: the login may not read all rows of ${unreadable
            .map(({ name }) => name)
            .join(', ')}.`,
          advice: 'Run the preflight as the owner of the tables.',
        },
      ];
    }
    // A query of the rows would fail: the checks of tables and columns say why.
    return tables.length < TENANT_TABLES.length ||
      (await examineRule(context, columns, context.begun))
      ? []
      : ofRules('tables', ...ROW_RULES).run(context);
  },
};

/** The checks, in the order of the report. */
export const CHECKS: PreflightCheck[] = [
  connection,
  ...SERVER_RULES.map(rule => ofRules('server', rule)),
  roles,
  disk,
  backup,
  names,
  allTables,
  ...SHAPE_RULES.filter(rule => rule !== storage).map(rule =>
    ofRules('tables', rule),
  ),
  rows,
];
