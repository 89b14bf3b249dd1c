// @ts-check
const { createTenantTable, DEFAULT_TENANT } = require('./support/tenantTable');
const { putToTrash } = require('./support/toTrash');

const USER = `~ '^user:[^/]+/.+$'`;
const NOW = "(now() at time zone 'utc')";
const TENANT_ID = `tenant_id uuid not null default '${DEFAULT_TENANT}'`;
const TENANT_COMMENT =
  'The tenant that the mockup belongs to. The default tenant has all that were there before, and all of a backend without tenants';
const READERS =
  'Groups that it is shared with to be read, as group:<namespace>/<name>. Those among the writers are not repeated';
const WRITERS =
  'Groups that it is shared with to be read and changed, as group:<namespace>/<name>';

const TABLES = {
  // Groups are arrays on the row of the mockup, and no table of their own: whoever changes a
  // mockup locks its row, and PostgreSQL then evaluates the condition of the write on the row as it
  // was committed last. So nobody writes on account of a share that was taken back meanwhile.
  mockups: {
    comment: 'UI mockups',
    columns: {
      id: 'Identifies the mockup',
      name: 'What people call the mockup, 1 to 255 characters',
      description: 'What the mockup is about, at most 1000 characters',
      owner: 'The user who created it, as user:<namespace>/<name>',
      created_at: 'When it was created, in UTC',
      updated_at:
        'When it or its versions last changed, in UTC. Rises by at least a microsecond with every change, so that it also names the state of the mockup',
      tenant_id: TENANT_COMMENT,
      readers: READERS,
      writers: WRITERS,
    },
    create: `(
      id uuid primary key default gen_random_uuid(),
      name varchar not null
        constraint mockups_name_check check (char_length(name) between 1 and 255),
      description text
        constraint mockups_description_check check (char_length(description) <= 1000),
      owner varchar not null constraint mockups_owner_check check (owner ${USER}),
      created_at timestamp not null default ${NOW},
      updated_at timestamp not null default ${NOW},
      ${TENANT_ID},
      readers text[] not null default '{}',
      writers text[] not null default '{}');
      -- What the foreign keys of the other tables refer to.
      create unique index mockups_tenant_key on mockups (tenant_id, id)`,
  },
  mockup_versions: {
    comment: 'Saved layouts of mockups. Of a row, only the tag is ever updated',
    columns: {
      id: 'Identifies the version',
      mockup_id: 'The mockup whose layout this is',
      version_tag: 'A name for the version, at most 50 characters',
      layout_data: 'The layout: a list of at most 1000 positioned grid items',
      created_by: 'The user who saved it, as user:<namespace>/<name>',
      created_at:
        'When it was saved, in UTC, to the microsecond. No two versions of a mockup share it, which gives them a definite order',
      tenant_id: TENANT_COMMENT,
      restored_from:
        'The version of the same mockup whose layout this one took over, if it was made by restoring that. It may be gone',
    },
    create: `(
      id uuid primary key default gen_random_uuid(),
      mockup_id uuid not null,
      version_tag varchar constraint mockup_versions_version_tag_check
        check (char_length(version_tag) <= 50),
      layout_data jsonb not null,
      created_by varchar not null
        constraint mockup_versions_created_by_check check (created_by ${USER}),
      created_at timestamp not null,
      ${TENANT_ID},
      restored_from uuid,
      -- Finds the newest version of a mockup without looking at the others.
      constraint mockup_versions_order_key unique (mockup_id, created_at),
      constraint mockup_versions_mockup_fkey
        foreign key (tenant_id, mockup_id) references mockups (tenant_id, id)
        on delete cascade,
      constraint mockup_versions_layout_size_check
        check (octet_length(layout_data::text) <= 4 * 1024 * 1024),
      constraint mockup_versions_layout_data_check
        check (
          case when jsonb_typeof(layout_data) = 'array' then
            jsonb_array_length(layout_data) <= 1000
            and jsonb_array_length(layout_data) = jsonb_array_length(
              jsonb_path_query_array(layout_data, '${validItems()}')
            )
          else false end))`,
  },
  // The searchable text has a separate table with a trigram index, the only kind that finds any
  // part of a text. On mockups itself, every saved version would index the whole text again,
  // because it changes updated_at, which other indexes cover.
  mockup_search: {
    comment: 'The searchable text of mockups, kept by a trigger',
    columns: {
      mockup_id: 'The mockup whose text this is',
      name: 'The name of the mockup',
      description: 'The description of the mockup',
      tenant_id: TENANT_COMMENT,
    },
    create: `(
      mockup_id uuid primary key,
      name varchar not null,
      description text,
      ${TENANT_ID},
      constraint mockup_search_mockup_fkey
        foreign key (tenant_id, mockup_id) references mockups (tenant_id, id)
        on delete cascade)`,
  },
  // A trigger keeps what is deleted here, so that nothing that reads mockups has to leave deleted
  // ones out, and that whoever deletes finds it there: other plugins and an administrator, too.
  // Types and bounds are those of the rows that are copied here.
  mockup_trash: {
    comment:
      'Deleted mockups, until they are restored or their retention ends. A trigger on mockups puts them here',
    columns: {
      deleted_by:
        'The user who deleted it, as user:<namespace>/<name>. Unknown where it was not deleted by a request, or by an earlier version of the plugin',
    },
    create: `(
      tenant_id uuid not null,
      id uuid not null,
      name varchar not null,
      description text,
      owner varchar not null,
      created_at timestamp not null,
      updated_at timestamp not null,
      deleted_at timestamp not null,
      deleted_by varchar,
      readers text[] not null default '{}',
      writers text[] not null default '{}',
      primary key (tenant_id, id))`,
  },
  mockup_trash_versions: {
    comment: 'The versions of deleted mockups, as they were',
    columns: {},
    create: `(
      tenant_id uuid not null,
      mockup_id uuid not null,
      id uuid not null,
      version_tag varchar,
      layout_data jsonb not null,
      created_by varchar not null,
      created_at timestamp not null,
      restored_from uuid,
      primary key (tenant_id, mockup_id, id),
      foreign key (tenant_id, mockup_id) references mockup_trash
        on delete cascade)`,
  },
};

const INDEXES = {
  // Every order that a list offers.
  mockups_tenant_owner_idx: 'mockups (tenant_id, owner, updated_at, id)',
  mockups_tenant_updated_at_idx: 'mockups (tenant_id, updated_at, id)',
  mockups_tenant_created_at_idx: 'mockups (tenant_id, created_at, id)',
  mockups_tenant_name_idx: 'mockups (tenant_id, name, id)',
  mockup_search_tenant_idx: 'mockup_search (tenant_id, mockup_id)',
  mockup_trash_list_idx: 'mockup_trash (tenant_id, deleted_at, id)',
  // What the retention looks for.
  mockup_trash_deleted_at_idx: 'mockup_trash (deleted_at)',
};

/**
 * Creates the tables of mockups, of their versions, of their searchable text, and of the trash.
 *
 * Runs on an empty database, so no statement waits for a lock or makes another
 * wait. The CHECK constraints repeat the bounds that the HTTP layer
 * enforces (specification, "Limits"): other plugins reach the store without
 * passing that layer.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  for (const [table, options] of Object.entries(TABLES)) {
    await createTenantTable(knex, table, options);
  }
  for (const [name, of] of Object.entries(INDEXES)) {
    await knex.raw(`create index ${name} on ${of}`);
  }
  await keepSearch(knex);
  await putToTrash(knex);
  await knex.raw(`
    create trigger mockup_to_trash before delete on mockups
      for each row execute function mockup_to_trash()`);
};

/**
 * Drops all tables with everything in them. The extension pg_trgm stays: other
 * plugins may use it.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  for (const table of Object.keys(TABLES).reverse()) {
    await knex.raw(`drop table ${table}`);
  }
  await knex.raw('drop function mockup_search_refresh, mockup_to_trash');
};

/**
 * A path that selects the items within the bounds of a layout item. The CHECK
 * compares counts: a path that selected the offending items would miss one whose
 * field is missing, because a comparison with null is neither true nor false.
 */
function validItems() {
  const conditions = [
    '@.i.type() == "string"',
    '@.component.type() == "string"',
    '@.props.type() == "object"',
    ...['x', 'y'].map(field => isInteger(field, 0)),
    ...['w', 'h'].map(field => isInteger(field, 1)),
  ];
  // The backslash keeps Knex from taking the question mark for a binding.
  return `strict $[*] \\? (${conditions.join(' && ')})`;
}

/**
 * @param {string} field
 * @param {number} minimum
 */
function isInteger(field, minimum) {
  return `@.${field} >= ${minimum} && @.${field}.floor() == @.${field}`;
}

/** @param {import('knex').Knex} knex */
async function keepSearch(knex) {
  const operators = `${await provideTrigrams(knex)}.gin_trgm_ops`;
  await knex.raw(`
    create index mockup_search_text_idx on mockup_search
      using gin (name ${operators}, description ${operators})`);
  // Qualified, because the search path of the writing session may differ.
  await knex.raw(`
    create function mockup_search_refresh() returns trigger language plpgsql
      set search_path from current as $$
    begin
      insert into mockup_search (mockup_id, tenant_id, name, description)
      values (new.id, new.tenant_id, new.name, new.description)
      on conflict (mockup_id) do update
        set name = excluded.name, description = excluded.description;
      return null;
    end
    $$`);
  await knex.raw(`
    create trigger mockup_search_refresh
      after insert or update of name, description on mockups
      for each row execute function mockup_search_refresh()`);
}

/**
 * Creates the extension pg_trgm if it is missing, and returns its schema, which may
 * be off the search path of this plugin. In a database that plugins share, it goes
 * where all of them find it.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<string>}
 */
async function provideTrigrams(knex) {
  const mayUsePublic = `
    select 1 from pg_namespace
     where nspname = 'public' and has_schema_privilege(oid, 'create')`;
  const { rows: usable } = await knex.raw(mayUsePublic);
  await knex.raw(
    `create extension if not exists pg_trgm ${
      usable.length > 0 ? 'schema public' : ''
    }`,
  );
  const { rows } = await knex.raw(`
    select quote_ident(nspname) as schema
      from pg_extension
      join pg_namespace on pg_namespace.oid = extnamespace
     where extname = 'pg_trgm'
  `);
  return rows[0].schema;
}
