import {
  changeRole,
  createTestDatabases,
  withClient,
} from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { createCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { examineIsolation } from './examineIsolation';
import type { IsolationFinding } from './Finding';

const databases = createTestDatabases({ versions: 'every' });

const PASSWORD = 'only-for-tests';
const OTHER = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb';
const OTHER_ENTITY = 'bbbbbbbb-bbbb-4bbb-8bbb-000000000001';
// What only the other tenant has.
const SECRET = 'secret-of-b';

const ADD_OTHER = `
  insert into tenants (tenant_id, tenant_slug, tenant_name) values ('${OTHER}', 'other', 'Other');
  insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
                        entity_name, final_entity, hash)
  select '${OTHER}', ('bbbbbbbb-bbbb-4bbb-8bbb-00000000000' || i)::uuid, 'component:default/' || name,
         'component', 'default', name, jsonb_build_object('kind', 'Component', 'name', name), 'h'
    from generate_series(1, 9) i, format('${SECRET}-%s', i) name;`;

/** What shows rows of another tenant. */
interface Bypass {
  /** What a superuser does, by accident. */
  setup: string;
  /** What the user then reads them with; its last rows hold the secret. */
  exploit: string;
  /** What happens in between, with the rights of `portal_admin`. */
  meanwhile?: string;
  /** What the exploit reads at its end. */
  loot?: string;
  problem: RegExp;
  /** The only version of PostgreSQL that has it. */
  only?: string;
}

// $user is the database user, and $role another role.
const BYPASSES: Record<string, Bypass> = {
  'a policy that calls a function tenant_required of another schema': {
    setup: `
      create schema other; grant usage on schema other to public;
      create function other.tenant_required(text) returns uuid language sql stable
        as $$ select '${OTHER}'::uuid $$;
      drop policy tenant_isolation on entities;
      set search_path = other, tenancy;
      create policy tenant_isolation on entities for all
        using (tenant_id = coalesce(nullif(current_setting('app.tenant_id', true), ''),
                                    tenant_required('entities')::text)::uuid)
        with check (tenant_id = coalesce(nullif(current_setting('app.tenant_id', true), ''),
                                         tenant_required('entities')::text)::uuid)`,
    exploit: 'select final_entity from entities',
    problem:
      /^The policy tenant_isolation on entities is missing, or not the one/,
  },
  'a function tenant_required with another body': {
    setup: `create or replace function tenancy.tenant_required(table_name text) returns uuid
              language plpgsql stable parallel safe as $$ begin return '${OTHER}'; end $$`,
    exploit: 'select final_entity from entities',
    problem:
      /^The function tenancy\.tenant_required\(text\), .* not that of the migration$/,
  },
  'a permissive policy': {
    setup: 'create policy auditors on entities for select using (true)',
    exploit: `set app.tenant_id = '00000000-0000-0000-0000-000000000001';
              select final_entity from entities`,
    problem: /^The policy auditors on entities lets rows through/,
  },
  'the tables of before the swap without row-level security': {
    setup: `alter table entities_old disable row level security;
            grant select on entities_old to $user`,
    exploit: `select '${SECRET}', * from entities_old`,
    problem: /^Row-level security is not enabled on entities_old$/,
  },
  'a view of a superuser': {
    setup: `create view public.everything as select * from entities;
            grant select on public.everything to $user`,
    exploit: 'select * from public.everything',
    problem:
      /has rights on the view public\.everything, which shows rows of every tenant/,
  },
  'a view on a view on a view': {
    setup: `create view public.first as select * from entities;
            grant select on public.first to $role;
            create view public.second as select * from public.first;
            alter view public.second owner to $role;
            create view public.third as select * from public.second;
            alter view public.third owner to $role;
            grant select on public.third to $user`,
    exploit: 'select * from public.third',
    problem: /has rights on the view public\.third/,
  },
  'a view that reads as who asks, on one that does not': {
    setup: `create view public.below as select * from entity_terms;
            create view public.above with (security_invoker = true) as select * from public.below;
            grant select on public.above, public.below to $user`,
    exploit: 'select * from public.above',
    problem: /has rights on the view public\.(above|below), which shows/,
    only: 'POSTGRES_18',
  },
  'a view on a materialized view': {
    setup: `create materialized view public.copied as select * from entities;
            create view public.of_copy as select * from public.copied;
            grant select on public.of_copy to $user`,
    exploit: 'select * from public.of_copy',
    problem: /has rights on the view public\.of_copy, which shows/,
  },
  'a SECURITY DEFINER function of a superuser': {
    setup: `create function public.peek(name text) returns setof jsonb language sql security definer
              as $$ select final_entity from tenancy.entities $$`,
    exploit: `select public.peek('a')`,
    problem:
      /^The database user '\w+' may call public\.peek\(name text\), a SECURITY DEFINER function that runs as \w+, whom no policy binds$/,
  },
  'a SECURITY DEFINER procedure of portal_admin': {
    setup: `create procedure peek(inout found text) language plpgsql security definer
              set search_path = tenancy
              as $$ begin select string_agg(final_entity::text, ',') into found from entities; end $$;
            alter procedure peek owner to portal_admin`,
    exploit: `call tenancy.peek('')`,
    problem:
      /may call tenancy\.peek\(.*\), .* runs as portal_admin, whom no policy binds$/,
  },
  'a role that bypasses row-level security': {
    setup: `alter role $role bypassrls; grant select on entities to $role;
            grant usage on schema tenancy to $role; grant $role to $user`,
    exploit: 'set role $role; select final_entity from tenancy.entities',
    problem:
      /^The role \w+, which the database user '\w+' may act as, has BYPASSRLS$/,
  },
  'a role that has the rights of portal_admin': {
    setup: 'grant portal_admin to $role; grant $role to $user',
    exploit: `set role $role; begin; alter table entities no force row level security;
              select final_entity from entities; rollback`,
    problem:
      /^The role \w+(, which the database user '\w+' may act as, inherits portal_admin$| inherits portal_admin, whose policy)/,
  },
  'a role that may be granted by the user to itself': {
    setup: `alter role $role bypassrls; grant select on entities to $role;
            grant usage on schema tenancy to $role;
            grant $role to $user with admin true, inherit false, set false`,
    exploit: `begin; grant $role to $user with set true; set local role $role;
              select final_entity from tenancy.entities; rollback`,
    problem:
      /^The role \w+, which the database user '\w+' may act as, has BYPASSRLS$/,
    only: 'POSTGRES_18',
  },
  'a right to create triggers, which run as who writes': {
    setup: `grant create, usage on schema public to $user; grant usage on schema public to portal_admin;
            grant trigger on entities to $user`,
    exploit: `create table if not exists public.stolen (entity jsonb); grant all on public.stolen to public;
      create or replace function public.peek() returns trigger language plpgsql as $$ begin
        insert into public.stolen select final_entity from tenancy.entities; return null; end $$;
      create trigger peek after delete on tenancy.entities execute function public.peek();`,
    meanwhile: `delete from tenancy.entities where false; drop trigger peek on tenancy.entities`,
    loot: 'select * from public.stolen',
    problem: /^The database user '\w+' has rights on entities \(TRIGGER\)/,
  },
  'a right to reference a table, which finds rows': {
    setup: `grant create, usage on schema public to $user;
            grant references on entities to public`,
    exploit: `create table public.guess (tenant uuid, entity uuid,
        foreign key (tenant, entity) references tenancy.entities (tenant_id, entity_id));
      insert into public.guess values ('${OTHER}', '${OTHER_ENTITY}') returning '${SECRET}'`,
    problem: /^The database user '\w+' has rights on entities \(REFERENCES\)/,
  },
  'a tenant that is set for each session': {
    setup: `alter role $user set app.tenant_id = '${OTHER}'`,
    exploit: 'select final_entity from entities',
    problem:
      /^The database user '\w+' begins each session with app\.tenant_id=bbbb/,
  },
  'a role that each session begins as': {
    setup: 'alter role $user set role = portal_admin',
    exploit: 'select final_entity from entities',
    problem:
      /^The database user '\w+' begins each session with role=portal_admin/,
  },
};

// What looks like one of them, and is none.
const HARMLESS: Record<string, { setup: string; only?: string }> = {
  'a view of a role that the policies bind': {
    setup: `grant select on entities to $role; grant usage on schema tenancy to $role;
            create view public.own as select * from entities;
            alter view public.own owner to $role; grant select on public.own to $user`,
  },
  'a view that reads as who asks': {
    setup: `create view public.own with (security_invoker = true) as select * from entities;
            grant select on public.own to public`,
    only: 'POSTGRES_18',
  },
  'a view that the user has no right to': {
    setup: 'create view public.everything as select * from entities',
  },
  'a view on a view whose owner may not read it': {
    setup: `create view public.everything as select * from entities;
            create view public.broken as select * from public.everything;
            alter view public.broken owner to $role; grant select on public.broken to $user`,
  },
  'a SECURITY DEFINER function that the user may not call': {
    setup: `create function public.peek() returns bigint language sql security definer
              as $$ select count(*) from tenancy.entities $$;
            revoke execute on function public.peek() from public`,
  },
  'a SECURITY DEFINER function of a role that the policies bind': {
    setup: `create function public.own() returns int language sql security definer
              as $$ select 1 $$;
            alter function public.own() owner to $role`,
  },
  'the functions of extensions': {
    setup: `create extension if not exists dblink; create extension if not exists pgcrypto`,
  },
  'a restrictive policy': {
    // One for everybody would bind portal_admin where that has no BYPASSRLS.
    setup: `create policy fewer on entities as restrictive
              ${process.env.PORTAL_ADMIN ? 'to $user' : ''} using (true)`,
  },
};

describe.each(databases.eachSupportedId())(
  'bypasses of the policies on %s',
  id => {
    const create = () =>
      createCatalogDatabase(databases, id, {
        entities: 20,
        phase: 5,
        async prepare({ client }) {
          await client.query(ADD_OTHER);
        },
      });
    let database: CatalogDatabase;
    let user: string;
    let role: string;
    let number = 0;

    beforeEach(async () => {
      database = await create();
      number += 1;
      user = `bypass_${process.pid}_${id.toLowerCase()}_${number}`;
      role = `${user}_role`;
      await changeRole(
        database.client,
        `create role ${user} login noinherit password '${PASSWORD}'`,
      );
      await changeRole(database.client, `create role ${role} nologin`);
      await database.client.query(
        `grant usage on schema tenancy to ${user};
       grant select on tenants, tenant_members, tenant_engines, tenant_invitations, tenant_sign_in,
         tenant_shares, tenant_share_copies, tenant_audit, tenant_usage, entity_terms, entity_parents to ${user};
       grant select, insert, update, delete on entities, relations, refresh_state to ${user};
       grant portal_admin to ${user} ${
          id === 'POSTGRES_14' ? '' : 'with inherit false'
        }`,
      );
    });

    afterEach(async () => {
      await database.close();
      // Roles belong to the server. What they owned was the database's.
      await withClient(
        { ...database.connection, database: 'postgres' },
        async client => {
          await client.query(
            `drop database ${database.connection.database} with (force)`,
          );
          for (const each of [user, role]) {
            await client.query(`drop role if exists ${each}`);
          }
        },
      );
    });

    const filled = (sql: string) =>
      sql.replaceAll('$user', user).replaceAll('$role', role);

    /** On a connection of its own, which takes no setting along. */
    async function query(
      sql: string,
      connection: ClientConfig = database.connection,
    ): Promise<unknown[]> {
      return withClient(connection, async client => {
        const results = await client.query(
          `set search_path = tenancy; ${filled(sql)}`,
        );
        return [results].flat().flatMap(({ rows }) => rows);
      });
    }

    const superuser = (sql: string) => query(sql);

    const asUser = (sql: string) =>
      query(sql, { ...database.connection, user, password: PASSWORD });

    /** What the bypass shows, or why it shows nothing. */
    async function loot(bypass: Bypass): Promise<string> {
      try {
        const rows = await asUser(bypass.exploit);
        if (!bypass.loot) {
          return JSON.stringify(rows);
        }
        await superuser(`set role portal_admin; ${bypass.meanwhile}`);
        return JSON.stringify(await asUser(bypass.loot));
      } catch (error) {
        return `refused: ${(error as Error).message}`;
      }
    }

    async function examine() {
      return examineIsolation({
        read: async <Row extends object>(sql: string, values: unknown[]) =>
          (await database.client.query<Row>(sql, values)).rows,
        schema: 'tenancy',
        user,
        isPartitioned: true,
      });
    }

    /** Runs what a finding says. */
    async function obey({ remedy, script }: IsolationFinding): Promise<void> {
      const [first] = remedy
        .replace(/^let the backend .*?, or /, '')
        .split(', or ');
      const statements = script
        ? [script]
        : [...first.matchAll(/"([^"]+)"/g)].map(([, statement]) => statement);
      expect(statements).not.toEqual([]);
      for (const statement of statements) {
        await superuser(statement);
      }
    }

    it('are none where nobody has made one', async () => {
      await expect(examine()).resolves.toEqual({
        missing: [],
        findings: [],
        deviations: [],
      });
    });

    it.each(
      Object.entries(BYPASSES).filter(([, { only }]) => !only || only === id),
    )('finds %s, and says what ends it', async (_, bypass) => {
      await superuser(bypass.setup);
      expect(await loot(bypass)).toContain(SECRET);
      const { findings } = await examine();
      expect(findings).not.toEqual([]);
      for (const { problem } of findings) {
        expect(problem).toMatch(bypass.problem);
      }
      for (const finding of findings) {
        await obey(finding);
      }
      await expect(examine()).resolves.toMatchObject({ findings: [] });
      expect(await loot(bypass)).not.toContain(SECRET);
    });

    it('finds what all roles begin with, and says what ends it', async () => {
      const { client } = database;
      // Sessions of others would begin with it.
      await client.query('begin');
      await client.query(`alter role all set app.tenant_id = '${OTHER}'`);
      const { findings } = await examine();
      const [, statement] = findings[0].remedy.match(/"([^"]+)"/)!;
      await client.query(statement);
      await expect(examine()).resolves.toMatchObject({ findings: [] });
      await client.query('rollback');
    });

    it.each(
      Object.entries(HARMLESS).filter(([, { only }]) => !only || only === id),
    )('does not mind %s', async (_, { setup }) => {
      await superuser(setup);
      await expect(examine()).resolves.toEqual({
        missing: [],
        findings: [],
        deviations: [],
      });
    });
  },
);
