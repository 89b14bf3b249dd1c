import { engineTable } from '../../adopt/Engine';
import { adoptedEngine } from '../../adopt/state';
import { RefusedError } from '../../errors';
import type { StepContext } from '../../engine/Step';
import { TENANT_POLICY, TENANT_SETTING } from '../../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../../schema/roles';
import { TENANT_TABLES } from '../../schema/tables';
import {
  bypassesPolicies,
  readViews,
  SECURITY_INVOKER_SINCE,
} from '../../schema/views';
import { APPLICATION_PREFIX } from '../../session/operatorLock';

const TABLES = [...TENANT_TABLES];

/** A session of an application that does not know tenants. */
interface OldSession {
  pid: number;
  login: string;
  application: string;
  address: string | null;
  /** Whether the policy does not apply to its login: a superuser, or BYPASSRLS. */
  bypasses: boolean;
}

/**
 * Refuses where something of another's would let rows through beside the policy:
 * permissive policies add up, and TRUNCATE obeys none.
 */
export async function checkPolicies({ executor }: StepContext): Promise<void> {
  const policies = await executor.read<{ name: string; table: string }>(
    `select policyname as name, tablename as table from pg_policies
      where schemaname = current_schema and tablename = any ($1)
        and permissive = 'PERMISSIVE' and policyname <> $2 order by 2, 1`,
    [TABLES, TENANT_POLICY],
  );
  if (policies.length > 0) {
    throw new RefusedError(
      'Other policies would let rows through beside the one of this phase: ' +
        `${policies
          .map(({ name, table }) => `${name} on ${table}`)
          .join(', ')}. Drop them, or create them AS RESTRICTIVE.`,
    );
  }
  const enabled = await executor.read<{ table: string }>(
    `select relname as table from pg_class c
      where oid in (select to_regclass(t) from unnest($1::text[]) t)
        and (relrowsecurity or relforcerowsecurity)
        and not exists (select from pg_policy p
                         where p.polrelid = c.oid and p.polname = $2)`,
    [TABLES, TENANT_POLICY],
  );
  if (enabled.length > 0) {
    throw new RefusedError(
      'Row-level security is in use already, and an undo of this phase would end ' +
        `it: on ${enabled
          .map(({ table }) => table)
          .join(', ')}. Disable it first.`,
    );
  }
  const truncating = await executor.read<{ table: string }>(
    `select c.relname as table from pg_class c, aclexplode(c.relacl) a
      where c.oid in (select to_regclass(t) from unnest($1::text[]) t)
        and a.grantee = 0 and a.privilege_type = 'TRUNCATE'`,
    [TABLES],
  );
  if (truncating.length > 0) {
    const list = truncating.map(({ table }) => table).join(', ');
    throw new RefusedError(
      'Everybody may TRUNCATE tables, whoever the rows belong to. Run "revoke ' +
        `truncate on ${list} from public".`,
    );
  }
}

/** Refuses where a view would show every tenant's rows and can't be stopped. */
export async function checkViews({
  executor,
  settings,
  reporter,
}: StepContext): Promise<void> {
  const [{ version }] = await executor.read<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  const leaking = (await readViews(executor, TENANT_TABLES)).filter(
    view =>
      bypassesPolicies(view) &&
      (view.materialized || !view.ours || version < SECURITY_INVOKER_SINCE),
  );
  if (leaking.length === 0) {
    return;
  }
  const list = leaking
    .map(({ name, owner }) => `${name} (of ${owner})`)
    .join(', ');
  const finding = `Row-level security does not reach what these show: ${list}`;
  if (settings.force) {
    reporter.warn(finding);
    return;
  }
  throw new RefusedError(
    `${finding}. Drop the materialized ones, and let the others read with the ` +
      `rights of whoever asks: ${
        version < SECURITY_INVOKER_SINCE
          ? 'PostgreSQL 14 can not, so give them to an owner that does not bypass ' +
            'row-level security (alter view … owner to …)'
          : 'alter view … set (security_invoker = true)'
      }. Or give --force, if nobody reads them who must not see every tenant.`,
  );
}

/**
 * Refuses while sessions are connected that can write, are not the new
 * application's, and will be refused by the policy because they set no tenant.
 *
 * Those that bypass row-level security, such as monitoring as a superuser, only are
 * warned of: the policy does not apply to them, but the column loses its default.
 */
export async function checkSessions(context: StepContext): Promise<void> {
  const { executor, settings, reporter } = context;
  const engine = await adoptedEngine(context);
  const sessions = await executor.read<OldSession>(
    `select a.pid, a.usename as login, a.application_name as application,
            host(a.client_addr) as address, r.rolsuper or r.rolbypassrls as bypasses
       from pg_stat_activity a
       join pg_roles r on r.oid = a.usesysid
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and coalesce(a.backend_type, 'client backend') = 'client backend'
        and a.usename not in ($2, $3)
        and not starts_with(a.application_name, $4)
        and exists (select from unnest($1::text[]) t
                     where has_table_privilege(a.usesysid, to_regclass(t), 'insert'))
        and not coalesce(
          has_table_privilege(a.usesysid, to_regclass($5), 'insert'), false)
      order by bypasses, a.pid limit 10`,
    [
      TABLES,
      APP_ROLE,
      ADMIN_ROLE,
      APPLICATION_PREFIX,
      // Of an adopted catalog it is the engine, which writes to tables of its own.
      engine ? engineTable(engine, 'final_entities') : null,
    ],
  );
  const bypassing = sessions.filter(({ bypasses }) => bypasses);
  if (bypassing.length > 0) {
    reporter.warn(
      'Sessions that bypass row-level security can write to the tables, and go on ' +
        `after this phase:\n${bypassing.map(describe).join('\n')}\n` +
        'If one of them is an application that knows no tenants, stop it: from this ' +
        'phase on, an INSERT has to name its tenant_id.',
    );
  }
  const refused = sessions.filter(({ bypasses }) => !bypasses);
  if (refused.length === 0) {
    return;
  }
  const list = refused.map(describe).join('\n');
  const finding =
    `Sessions that do not connect as ${APP_ROLE} can write to the tables:\n${list}\n` +
    `From this phase on, a session that does not set ${TENANT_SETTING} is refused`;
  if (settings.force) {
    reporter.warn(`${finding}.`);
    return;
  }
  throw new RefusedError(
    `${finding}. Stop the application that knows no tenants, or let it connect as ` +
      `${APP_ROLE}. Give --force where these sessions are nothing to wait for.`,
  );
}

function describe(session: OldSession): string {
  const { pid, login, application, address } = session;
  return (
    `- ${
      application ? `"${application}"` : 'a session without a name'
    }, login ` +
    `${login}, process ${pid} of the server${
      address ? `, from ${address}` : ''
    }`
  );
}
