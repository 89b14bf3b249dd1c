import type { Client } from 'pg';

// The migration's own tables are not what it migrates.
const OURS = `c.relname not like 'tenancy\\_migration%'`;

const PRIVILEGES = `array(
  select format('%s=%s by %s', coalesce(g.rolname, 'PUBLIC'), a.privilege_type,
                pg_get_userbyid(a.grantor))
    from aclexplode(acl) a left join pg_roles g on g.oid = a.grantee
   order by 1)`;

const QUERIES: Record<string, string> = {
  schema: `
    select pg_get_userbyid(nspowner) as owner,
           ${PRIVILEGES.replace(
             '(acl)',
             `(coalesce(nspacl, acldefault('n', nspowner)))`,
           )} as privileges
      from pg_namespace where oid = 'tenancy'::regnamespace`,
  relations: `
    select relname as name, relkind as kind, pg_get_userbyid(relowner) as owner,
           relrowsecurity as "rowSecurity", relforcerowsecurity as forced,
           reloptions as options,
           case when relkind = 'v' then pg_get_viewdef(c.oid) end as definition,
           case when relkind in ('r', 'p', 'v', 'm', 'S') then
             ${PRIVILEGES.replace(
               '(acl)',
               `(coalesce(relacl, acldefault(
                 case relkind when 'S' then 's' else 'r' end::"char", relowner)))`,
             )} end as privileges
      from pg_class c
     where relnamespace = 'tenancy'::regnamespace and ${OURS} order by 1`,
  columns: `
    select c.relname as table, attname as column, attnotnull as "notNull",
           format_type(atttypid, atttypmod) as type,
           pg_get_expr(d.adbin, d.adrelid) as default, attacl::text as privileges
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where relnamespace = 'tenancy'::regnamespace and relkind in ('r', 'p', 'v')
       and attnum > 0 and not attisdropped and ${OURS} order by 1, attnum`,
  constraints: `
    select c.relname as table, pg_get_constraintdef(k.oid) as definition,
           convalidated as valid,
           -- For each partition that is referenced there is one whose name PostgreSQL chooses.
           case when not exists (select from pg_constraint p where p.oid = k.conparentid
                                    and p.conrelid = k.conrelid) then conname end as name
      from pg_constraint k join pg_class c on c.oid = k.conrelid
     where relnamespace = 'tenancy'::regnamespace and ${OURS} order by 1, name, 2`,
  indexes: `
    select pg_get_indexdef(indexrelid) as definition, indisvalid as valid
      from pg_index i join pg_class c on c.oid = i.indrelid
     where relnamespace = 'tenancy'::regnamespace and ${OURS} order by 1`,
  policies: `
    select tablename as table, policyname as name, permissive, roles::text[], cmd,
           qual, with_check
      from pg_policies where schemaname = 'tenancy' order by 1, 2`,
  triggers: `
    select pg_get_triggerdef(t.oid) as definition
      from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where relnamespace = 'tenancy'::regnamespace and not tgisinternal
       and ${OURS} order by 1`,
  functions: `
    select pg_get_functiondef(oid) as definition, pg_get_userbyid(proowner) as owner,
           ${PRIVILEGES.replace(
             '(acl)',
             `(coalesce(proacl, acldefault('f', proowner)))`,
           )} as privileges
      from pg_proc where pronamespace = 'tenancy'::regnamespace order by 1`,
};

export type CatalogSnapshot = Record<string, Record<string, unknown>[]>;

/** What PostgreSQL's catalog says about everything in the schema `tenancy`. */
export async function catalogSnapshot(
  client: Client,
): Promise<CatalogSnapshot> {
  const snapshot: CatalogSnapshot = {};
  for (const [name, query] of Object.entries(QUERIES)) {
    snapshot[name] = (await client.query(query)).rows;
  }
  return snapshot;
}
