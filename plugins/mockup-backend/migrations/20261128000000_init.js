// @ts-check

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** Without a tenant in the session, such as in a backend without tenants, the default one. */
const SESSION_TENANT = `cast(
  coalesce(nullif(current_setting('app.tenant_id', true), ''), '${DEFAULT_TENANT}')
  as uuid)`;

const USER = `~ '^user:[^/]+/.+$'`;

/**
 * The columns of a table with their types and comments, and its constraints. Constraints repeat
 * the bounds of the HTTP layer (specification, "Limits"), which other plugins bypass. All
 * timestamps are in UTC.
 *
 * @typedef {{ comment: string, columns: Record<string, [string, string]>, constraints?: string[] }} Table
 */

const TENANT_OF_MOCKUP = 'The tenant of the mockup';

/** @type {Record<string, Table>} */
const TABLES = {
  mockups: {
    comment: 'UI mockups',
    columns: {
      tenant_id: [
        `uuid not null default '${DEFAULT_TENANT}'`,
        'The tenant that the mockup belongs to. The default tenant has all of a backend without tenants',
      ],
      id: [
        'uuid primary key default gen_random_uuid()',
        'Identifies the mockup',
      ],
      name: [
        'varchar not null',
        'What people call the mockup, 1 to 255 characters',
      ],
      description: [
        'text',
        'What the mockup is about, at most 1000 characters',
      ],
      owner: [
        'varchar not null',
        'The user who created it, as user:<namespace>/<name>',
      ],
      created_at: [
        `timestamp not null default (now() at time zone 'utc')`,
        'When it was created',
      ],
      updated_at: [
        `timestamp not null default (now() at time zone 'utc')`,
        'When it or its versions last changed. Rises by at least a microsecond with every change, so that it also names the state of the mockup',
      ],
      // Columns of this row, so that a write evaluates the shares as they were committed last.
      readers: [
        `text[] not null default '{}'`,
        'Groups that it is shared with to be read, as group:<namespace>/<name>. Those among the writers are not repeated',
      ],
      writers: [
        `text[] not null default '{}'`,
        'Groups that it is shared with to be read and changed, as group:<namespace>/<name>',
      ],
    },
    constraints: [
      'constraint mockups_name_check check (char_length(name) between 1 and 255)',
      'constraint mockups_description_check check (char_length(description) <= 1000)',
      `constraint mockups_owner_check check (owner ${USER})`,
    ],
  },
  mockup_versions: {
    comment: 'Saved layouts of mockups. Of a row, only the tag is ever updated',
    columns: {
      tenant_id: [
        `uuid not null default '${DEFAULT_TENANT}'`,
        TENANT_OF_MOCKUP,
      ],
      id: [
        'uuid primary key default gen_random_uuid()',
        'Identifies the version',
      ],
      mockup_id: ['uuid not null', 'The mockup whose layout this is'],
      version_tag: ['varchar', 'A name for the version, at most 50 characters'],
      message: [
        'text',
        'What has changed in the version, at most 1000 characters',
      ],
      layout_data: [
        'jsonb not null',
        'The layout: a list of at most 1000 positioned grid items',
      ],
      created_by: [
        'varchar not null',
        'The user who saved it, as user:<namespace>/<name>',
      ],
      created_at: [
        'timestamp not null',
        'When it was saved. No two versions of a mockup share it, which gives them a definite order',
      ],
      // No foreign key: that version may be gone.
      restored_from: [
        'uuid',
        'The version of the same mockup whose layout this one took over, if it was made by restoring that. It may be gone',
      ],
    },
    constraints: [
      // Finds the newest version of a mockup without looking at the others.
      'constraint mockup_versions_order_key unique (mockup_id, created_at)',
      `constraint mockup_versions_mockup_fkey foreign key (tenant_id, mockup_id)
         references mockups (tenant_id, id) on delete cascade`,
      'constraint mockup_versions_version_tag_check check (char_length(version_tag) <= 50)',
      'constraint mockup_versions_message_check check (char_length(message) <= 1000)',
      `constraint mockup_versions_created_by_check check (created_by ${USER})`,
      `constraint mockup_versions_layout_size_check
         check (octet_length(layout_data::text) <= 4 * 1024 * 1024)`,
      `constraint mockup_versions_layout_data_check check (
         case when jsonb_typeof(layout_data) = 'array' then
           jsonb_array_length(layout_data) <= 1000
           and jsonb_array_length(layout_data) = jsonb_array_length(
             jsonb_path_query_array(layout_data, '${validItems()}'))
         else false end)`,
    ],
  },
  // A separate table with a trigram index: on `mockups`, every saved version would index the
  // whole text again, because it changes updated_at, which other indexes cover.
  mockup_search: {
    comment: 'The searchable text of mockups, kept by a trigger',
    columns: {
      tenant_id: [
        `uuid not null default '${DEFAULT_TENANT}'`,
        TENANT_OF_MOCKUP,
      ],
      mockup_id: ['uuid primary key', 'The mockup whose text this is'],
      name: ['varchar not null', 'The name of the mockup'],
      description: ['text', 'The description of the mockup'],
    },
    constraints: [
      `constraint mockup_search_mockup_fkey foreign key (tenant_id, mockup_id)
         references mockups (tenant_id, id) on delete cascade`,
    ],
  },
  mockup_trash: {
    comment:
      'Deleted mockups, until they are restored or their retention ends. A trigger on mockups puts them here',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      id: ['uuid not null', 'As in mockups'],
      name: ['varchar not null', 'As in mockups'],
      description: ['text', 'As in mockups'],
      owner: ['varchar not null', 'As in mockups'],
      created_at: ['timestamp not null', 'As in mockups'],
      updated_at: ['timestamp not null', 'As in mockups'],
      readers: [`text[] not null default '{}'`, 'As in mockups'],
      writers: [`text[] not null default '{}'`, 'As in mockups'],
      deleted_at: ['timestamp not null', 'When it was deleted'],
      deleted_by: [
        'varchar',
        'The user who deleted it, as user:<namespace>/<name>. Unknown unless a request deleted it',
      ],
    },
    constraints: ['primary key (tenant_id, id)'],
  },
  mockup_trash_versions: {
    comment: 'The versions of deleted mockups, as they were',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      mockup_id: ['uuid not null', 'As in mockup_versions'],
      id: ['uuid not null', 'As in mockup_versions'],
      version_tag: ['varchar', 'As in mockup_versions'],
      message: ['text', 'As in mockup_versions'],
      layout_data: ['jsonb not null', 'As in mockup_versions'],
      created_by: ['varchar not null', 'As in mockup_versions'],
      created_at: ['timestamp not null', 'As in mockup_versions'],
      restored_from: ['uuid', 'As in mockup_versions'],
    },
    constraints: [
      'primary key (tenant_id, mockup_id, id)',
      'foreign key (tenant_id, mockup_id) references mockup_trash on delete cascade',
    ],
  },
  mockup_pages: {
    comment: 'Versions of mockups that are pages of the portal',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      path: [
        'varchar not null',
        'The last segment of the address: lower-case letters, digits and single hyphens, at most 100',
      ],
      title: [
        'varchar not null',
        'What the page is called, 1 to 255 characters',
      ],
      mockup_id: ['uuid not null', 'The mockup'],
      version_id: ['uuid not null', 'The version that is shown'],
      audience: [
        'varchar not null',
        'Who sees it beside who published it: everybody, group:<namespace>/<name>, or role:<role> with those who have a higher one',
      ],
      is_home: [
        'boolean not null',
        'Whether it is the home page of its audience',
      ],
      is_template: [
        'boolean not null default false',
        'Whether mockups may begin with its layout',
      ],
      published_by: [
        'varchar not null',
        'The user who published it, as user:<namespace>/<name>',
      ],
      published_at: ['timestamp not null', 'When'],
    },
    constraints: [
      'primary key (tenant_id, path)',
      // A deleted mockup takes its pages along.
      `constraint mockup_pages_mockup_fkey foreign key (tenant_id, mockup_id)
         references mockups (tenant_id, id) on delete cascade`,
      // A version that is a page is not deleted while its mockup stays. Checked at the commit,
      // when the pages of a deleted mockup are gone too.
      `constraint mockup_pages_version_fkey foreign key (version_id)
         references mockup_versions (id) deferrable initially deferred`,
      `constraint mockup_pages_path_check check (
         char_length(path) <= 100 and path collate "C" ~ '^[a-z0-9]+(-[a-z0-9]+)*$')`,
      'constraint mockup_pages_title_check check (char_length(title) between 1 and 255)',
      `constraint mockup_pages_audience_check
         check (audience ~ '^(everybody|role:(viewer|member|admin)|group:[^/]+/.+)$')`,
      `constraint mockup_pages_published_by_check check (published_by ${USER})`,
    ],
  },
  mockup_comments: {
    comment: 'What people say of mockups and of items on them',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      id: [
        'uuid primary key default gen_random_uuid()',
        'Identifies the comment',
      ],
      // No foreign key: comments stay while their mockup is in the trash.
      mockup_id: ['uuid not null', 'The mockup, which may be in the trash'],
      item: [
        'varchar',
        'The item that it is about, as layouts call it in i; null for the whole',
      ],
      text: ['text not null', 'What is said, 1 to 2000 characters'],
      author: [
        'varchar not null',
        'Who has said it, as user:<namespace>/<name>',
      ],
      created_at: ['timestamp not null', 'When'],
      resolved_by: [
        'varchar',
        'Who has resolved it, as user:<namespace>/<name>',
      ],
      resolved_at: ['timestamp', 'When'],
    },
    constraints: [
      'constraint mockup_comments_item_check check (char_length(item) between 1 and 255)',
      'constraint mockup_comments_text_check check (char_length(text) between 1 and 2000)',
      `constraint mockup_comments_author_check check (author ${USER})`,
      `constraint mockup_comments_resolved_check check (
         (resolved_by is null) = (resolved_at is null) and resolved_by ${USER})`,
    ],
  },
  mockup_ready_versions: {
    comment: 'Versions that a reviewer has marked as ready',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      version_id: ['uuid primary key', 'The version'],
      ready_by: [
        'varchar not null',
        'The reviewer, as user:<namespace>/<name>',
      ],
      ready_at: ['timestamp not null', 'When'],
    },
    constraints: [
      `constraint mockup_ready_versions_version_fkey foreign key (version_id)
         references mockup_versions (id) on delete cascade`,
      `constraint mockup_ready_versions_ready_by_check check (ready_by ${USER})`,
    ],
  },
  mockup_settings: {
    comment: 'What tenants have decided on mockups',
    columns: {
      tenant_id: ['uuid primary key', 'The tenant'],
      review_required: [
        'boolean not null',
        'Whether a version has to be ready before it is published',
      ],
      updated_by: [
        'varchar not null',
        'Who has decided so, as user:<namespace>/<name>',
      ],
      updated_at: ['timestamp not null', 'When'],
    },
    constraints: [
      `constraint mockup_settings_updated_by_check check (updated_by ${USER})`,
    ],
  },
  mockup_editors: {
    comment: 'Who has an editor open, as editors say every few seconds',
    columns: {
      tenant_id: ['uuid not null', TENANT_OF_MOCKUP],
      mockup_id: ['uuid not null', 'The mockup'],
      editor: ['varchar not null', 'The user, as user:<namespace>/<name>'],
      seen_at: ['timestamp not null', 'When the editor has last said so'],
    },
    constraints: [
      'primary key (tenant_id, mockup_id, editor)',
      `constraint mockup_editors_editor_check check (editor ${USER})`,
      `constraint mockup_editors_mockup_fkey foreign key (tenant_id, mockup_id)
         references mockups (tenant_id, id) on delete cascade`,
    ],
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
  // For the retention.
  mockup_trash_deleted_at_idx: 'mockup_trash (deleted_at)',
  // For foreign keys.
  mockup_pages_mockup_idx: 'mockup_pages (tenant_id, mockup_id)',
  mockup_pages_version_idx: 'mockup_pages (version_id)',
  mockup_comments_mockup_idx:
    'mockup_comments (tenant_id, mockup_id, created_at)',
};

/**
 * Creates the tables of mockups with their policies. Row-level security does not bind the owner,
 * as whom the plugin migrates.
 *
 * Runs on an empty database, so that no statement waits for a lock or makes another wait.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  for (const [table, definition] of Object.entries(TABLES)) {
    await createTable(knex, table, definition);
    if (table === 'mockups') {
      // What the foreign keys of the other tables refer to.
      await knex.raw(
        'create unique index mockups_tenant_key on mockups (tenant_id, id)',
      );
    }
  }
  for (const [name, on] of Object.entries(INDEXES)) {
    await knex.raw(`create index ${name} on ${on}`);
  }
  await keepSearch(knex);
  await keepTrash(knex);
  await purgeComments(knex);
};

/**
 * Drops all tables with everything in them. The extension pg_trgm stays: other plugins may use
 * it.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  for (const table of Object.keys(TABLES).reverse()) {
    await knex.raw(`drop table ${table}`);
  }
  for (const name of [
    'mockup_search_refresh',
    'mockup_to_trash',
    'mockup_comments_of_purged',
  ]) {
    await knex.raw(`drop function ${name}`);
  }
};

/**
 * @param {import('knex').Knex} knex
 * @param {string} table
 * @param {Table} definition
 */
async function createTable(
  knex,
  table,
  { comment, columns, constraints = [] },
) {
  const parts = [
    ...Object.entries(columns).map(([column, [type]]) => `${column} ${type}`),
    ...constraints,
  ];
  await knex.raw(`create table ${table} (${parts.join(', ')})`);
  await knex.raw(`comment on table ${table} is '${comment}'`);
  for (const [column, [, text]] of Object.entries(columns)) {
    await knex.raw(`comment on column ${table}.${column} is '${text}'`);
  }
  await knex.raw(`
    create policy ${table}_tenant on ${table}
      using (tenant_id = ${SESSION_TENANT})
      with check (tenant_id = ${SESSION_TENANT})`);
  await knex.raw(`alter table ${table} enable row level security`);
}

/**
 * A path that selects the items within the bounds of a layout item. The CHECK compares counts: a
 * path that selected the offending items would miss one whose field is missing, because a
 * comparison with null is neither true nor false.
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

/**
 * The trigger that keeps the searchable text, and its trigram index, the only kind that finds any
 * part of a text.
 *
 * @param {import('knex').Knex} knex
 */
async function keepSearch(knex) {
  const operators = `${await provideTrigrams(knex)}.gin_trgm_ops`;
  await knex.raw(`
    create index mockup_search_text_idx on mockup_search
      using gin (name ${operators}, description ${operators})`);
  // With the search path of now, because that of the writing session may differ.
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
 * Creates the extension pg_trgm if it is missing, and returns its schema, which may be off the
 * search path of this plugin. In a database that plugins share, it goes where all of them find
 * it.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<string>}
 */
async function provideTrigrams(knex) {
  const { rows: usable } = await knex.raw(`
    select 1 from pg_namespace
     where nspname = 'public' and has_schema_privilege(oid, 'create')`);
  await knex.raw(
    `create extension if not exists pg_trgm ${
      usable.length > 0 ? 'schema public' : ''
    }`,
  );
  const { rows } = await knex.raw(`
    select quote_ident(nspname) as schema
      from pg_extension
      join pg_namespace on pg_namespace.oid = extnamespace
     where extname = 'pg_trgm'`);
  return rows[0].schema;
}

/**
 * The trigger that copies a deleted mockup and its versions to the trash, whoever deletes it. It
 * acts with the rights of the tables' owner.
 *
 * It holds the lock of the deleted row, and its queries see what was committed before it got
 * that: a version that is saved at the same time is either in the trash or refused. The temporary
 * schema comes last, where no caller can put tables of these names before.
 *
 * @param {import('knex').Knex} knex
 */
async function keepTrash(knex) {
  const mockup = Object.keys(TABLES.mockups.columns);
  const version = Object.keys(TABLES.mockup_versions.columns).join(', ');
  await knex.raw(`
    create function mockup_to_trash() returns trigger language plpgsql
      security definer set search_path = ${await ownSchema(knex)}, pg_temp as $$
    begin
      insert into mockup_trash (${mockup.join(', ')}, deleted_at, deleted_by)
      values (
        ${mockup.map(column => `old.${column}`).join(', ')},
        clock_timestamp() at time zone 'utc',
        nullif(current_setting('mockup.deleted_by', true), ''));
      insert into mockup_trash_versions (${version})
      select ${version} from mockup_versions
       where tenant_id = old.tenant_id and mockup_id = old.id;
      return old;
    end
    $$`);
  await knex.raw(`
    create trigger mockup_to_trash before delete on mockups
      for each row execute function mockup_to_trash()`);
}

/**
 * The trigger that deletes comments whose mockup leaves the trash and is not back. After the
 * statement: one that restores a mockup has made its row by then.
 *
 * @param {import('knex').Knex} knex
 */
async function purgeComments(knex) {
  await knex.raw(`
    create function mockup_comments_of_purged() returns trigger language plpgsql
      set search_path = ${await ownSchema(knex)}, pg_temp as $$
    begin
      delete from mockup_comments
       where tenant_id = old.tenant_id and mockup_id = old.id
         and not exists (
           select from mockups where tenant_id = old.tenant_id and id = old.id);
      return null;
    end
    $$`);
  await knex.raw(`
    create trigger mockup_comments_of_purged after delete on mockup_trash
      for each row execute function mockup_comments_of_purged()`);
}

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<string>}
 */
async function ownSchema(knex) {
  const { rows } = await knex.raw(
    'select quote_ident(current_schema()) as schema',
  );
  return rows[0].schema;
}
