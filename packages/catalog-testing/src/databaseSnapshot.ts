const THEIRS = `not in ('pg_catalog', 'information_schema', 'pg_toast')`;

// A right that was granted and revoked leaves the usual ones, written out.
const PRIVILEGES = `case when relkind in ('r', 'p', 'v', 'm', 'S') then coalesce(relacl,
  acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)) end`;

/** Each says in one text all there is to say about an object. */
const QUERIES = [
  `select format('schema %s of %s %s', nspname, pg_get_userbyid(nspowner), nspacl)
     from pg_namespace where nspname !~ '^pg_' and nspname ${THEIRS}`,
  `select format('relation %s of %s: %s %s %s %s %s %s %s %s', c.oid::regclass,
                 pg_get_userbyid(relowner), relkind, ${PRIVILEGES}, relrowsecurity,
                 relforcerowsecurity, relreplident, relispartition, reloptions,
                 case when relkind in ('v', 'm') then pg_get_viewdef(c.oid) end)
     from pg_class c where relnamespace::regnamespace::text ${THEIRS}
      and relnamespace::regnamespace::text !~ '^pg_'`,
  `select format('column %s.%s: %s %s %s %s', attrelid::regclass, attname,
                 format_type(atttypid, atttypmod), attnotnull,
                 pg_get_expr(d.adbin, d.adrelid), attacl)
     from pg_attribute a join pg_class c on c.oid = attrelid
     left join pg_attrdef d on d.adrelid = attrelid and d.adnum = attnum
    where attnum > 0 and not attisdropped and relkind in ('r', 'p', 'v')
      and relnamespace::regnamespace::text ${THEIRS}`,
  `select format('constraint %s on %s: %s %s', conname, conrelid::regclass,
                 pg_get_constraintdef(oid), convalidated)
     from pg_constraint where connamespace::regnamespace::text ${THEIRS}`,
  `select format('index %s', pg_get_indexdef(indexrelid)) from pg_index
     join pg_class c on c.oid = indexrelid
    where relnamespace::regnamespace::text ${THEIRS}
      and relnamespace::regnamespace::text !~ '^pg_'`,
  `select format('trigger on %s: %s %s', tgrelid::regclass, pg_get_triggerdef(oid),
                 tgenabled)
     from pg_trigger where not tgisinternal`,
  `select format('function of %s: %s %s', pg_get_userbyid(proowner),
                 pg_get_functiondef(oid), proacl)
     from pg_proc where prokind <> 'a' and pronamespace::regnamespace::text ${THEIRS}
      and not exists (select from pg_depend d where d.objid = pg_proc.oid and d.deptype = 'e')`,
  `select format('policy %s on %s.%s: %s %s %s %s', policyname, schemaname, tablename,
                 roles, cmd, qual, with_check) from pg_policies`,
  `select format('statistics %s: %s', stxname, pg_get_statisticsobjdef(oid))
     from pg_statistic_ext where stxnamespace::regnamespace::text ${THEIRS}`,
  `select format('rule %s on %s.%s: %s', rulename, schemaname, tablename, definition)
     from pg_rules where schemaname ${THEIRS}`,
  `select format('type %s of %s', oid::regtype, pg_get_userbyid(typowner)) from pg_type
    where typtype in ('d', 'e', 'r') and typnamespace::regnamespace::text ${THEIRS}
      and typnamespace::regnamespace::text !~ '^pg_'`,
  `select format('default privileges of %s: %s', defaclrole::regrole, defaclacl)
     from pg_default_acl`,
  `select format('event trigger %s', evtname) from pg_event_trigger`,
  `select format('extension %s', extname) from pg_extension`,
  `select format('setting of %s: %s', setdatabase, setconfig) from pg_db_role_setting
     join pg_database d on d.oid = setdatabase where datname = current_database()`,
];

/** Everything that is in a database but for its rows, one line each. */
export async function databaseSnapshot(database: {
  query<Row extends object>(text: string): Promise<Row[]>;
}): Promise<string[]> {
  const lines: string[] = [];
  for (const query of QUERIES) {
    const rows = await database.query<{ line: string }>(
      `select line from (${query}) found (line)`,
    );
    lines.push(...rows.map(({ line }) => line));
  }
  return lines.sort();
}
