import { SECURITY_INVOKER_SINCE } from '../../phases/phase4_row_level_security/views';
import { escapeIdentifier } from '../../schema/sql';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../text';

interface View {
  /** With the schema, as SQL. */
  name: string;
  owner: string;
  ownerIsSuperuser: boolean;
  materialized: boolean;
  /** Its owner sees every row whatever the policies say. */
  bypasses: boolean;
  /** It reads with the rights of whoever asks. */
  invoker: boolean;
  /** It reads one of the tables itself, rather than another view. */
  direct: boolean;
  /** The login may replace it. */
  ours: boolean;
  readers: string[];
}

/** What shows rows of the tables to others, at any remove. */
export const views: PreflightCheck = {
  name: 'views',
  scope: 'tables',
  async run(context) {
    const found = await readViews(context);
    if (found.length === 0) {
      return [ok('No view reads the tables.')];
    }
    return [
      ok(
        `Views read the tables: ${enumerate(found.map(({ name }) => name))}.`,
        {
          details: found,
        },
      ),
      ...found.flatMap(view =>
        view.materialized ? [copied(view)] : judge(view, context),
      ),
    ];
  },
};

function copied({ name }: View): Outcome {
  return failure(
    `${name} is a materialized view: it holds copies of rows, which row-level security does not protect.`,
    {
      advice: 'Make a view of it, or drop it.',
      sql: script([`drop materialized view ${name}`]),
    },
  );
}

function judge(view: View, { facts }: PreflightContext): Outcome[] {
  const { name, owner, direct, invoker, ours, readers } = view;
  const bypasses = view.bypasses && !invoker;
  const login = escapeIdentifier(facts.login);
  if (!ours && (direct || bypasses)) {
    return [
      failure(
        `The login ${facts.login} does not have the rights of ${owner}, the owner of the view ${name}, which phases 4 and 5 have to change.`,
        {
          advice: 'Let a superuser run this.',
          // To make the login a member of a superuser would make it one.
          sql: script([
            view.ownerIsSuperuser
              ? `alter view ${name} owner to ${login}`
              : `grant ${escapeIdentifier(owner)} to ${login}`,
          ]),
        },
      ),
    ];
  }
  if (!bypasses) {
    return [];
  }
  if (facts.version < SECURITY_INVOKER_SINCE) {
    return [
      failure(
        `${owner}, the owner of the view ${name}, bypasses row-level security, so the view would show every tenant's rows.`,
        {
          advice:
            'Give it to an owner that does not bypass row-level security and may read the tables.',
          sql: script([`alter view ${name} owner to <role>`]),
        },
      ),
    ];
  }
  return [
    readers.length === 0
      ? ok(`Phase 4 sets security_invoker on the view ${name}.`)
      : warning(
          `Phase 4 sets security_invoker on the view ${name}, because ${owner} bypasses row-level security: ` +
            `its readers (${enumerate(
              readers,
            )}) then need SELECT on the tables under it.`,
          { advice: 'Grant it to those that may read the tables.' },
        ),
  ];
}

async function readViews({
  executor,
  facts,
}: PreflightContext): Promise<View[]> {
  return executor.read<View>(
    `with recursive reading (oid) as (
       select unnest($1::oid[])
       union
       select r.ev_class
         from reading
         join pg_depend d on d.refclassid = 'pg_class'::regclass
                         and d.refobjid = reading.oid
                         and d.classid = 'pg_rewrite'::regclass
         join pg_rewrite r on r.oid = d.objid
     )
     select format('%I.%I', n.nspname, v.relname) as name, o.rolname as owner,
            o.rolsuper as "ownerIsSuperuser",
            v.relkind = 'm' as materialized,
            o.rolsuper or o.rolbypassrls as bypasses,
            coalesce((select option_value::boolean from pg_options_to_table(v.reloptions)
                       where option_name = 'security_invoker'), false) as invoker,
            exists (select from pg_rewrite r
                      join pg_depend d on d.classid = 'pg_rewrite'::regclass
                                      and d.objid = r.oid
                     where r.ev_class = v.oid and d.refclassid = 'pg_class'::regclass
                       and d.refobjid = any ($1)) as direct,
            pg_has_role(session_user, v.relowner, 'USAGE') as ours,
            array(select coalesce(r.rolname, 'PUBLIC')
                    from aclexplode(v.relacl) a
                    left join pg_roles r on r.oid = a.grantee
                   where a.privilege_type = 'SELECT' and a.grantee <> v.relowner
                   order by 1)::text[] as readers
       from reading
       join pg_class v using (oid)
       join pg_namespace n on n.oid = v.relnamespace
       join pg_roles o on o.oid = v.relowner
      where v.relkind in ('v', 'm') and v.oid <> all ($1)
      order by 1`,
    [facts.tables.map(({ oid }) => oid)],
  );
}
