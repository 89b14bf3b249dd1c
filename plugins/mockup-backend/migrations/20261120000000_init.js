// @ts-check

/**
 * Creates the tables of mockups, of their versions, and of their searchable text.
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
  await createMockups(knex);
  await createVersions(knex);
  await createSearch(knex);
};

/**
 * Drops all tables with everything in them. The extension pg_trgm stays: other
 * plugins may use it.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await knex.schema.dropTable('mockup_search');
  await knex.schema.dropTable('mockup_versions');
  await knex.schema.dropTable('mockups');
  await knex.raw('drop function mockup_search_refresh');
};

/** @param {import('knex').Knex} knex */
async function createMockups(knex) {
  await knex.schema.createTable('mockups', table => {
    table.comment('UI mockups');
    table
      .uuid('id')
      .primary()
      .defaultTo(knex.raw('gen_random_uuid()'))
      .comment('Identifies the mockup');
    table
      .specificType('name', 'varchar')
      .notNullable()
      .comment('What people call the mockup, 1 to 255 characters');
    table
      .text('description')
      .comment('What the mockup is about, at most 1000 characters');
    table
      .specificType('owner', 'varchar')
      .notNullable()
      .comment('The user who created it, as user:<namespace>/<name>');
    table
      .timestamp('created_at', { useTz: false })
      .notNullable()
      .defaultTo(knex.raw("(now() at time zone 'utc')"))
      .comment('When it was created, in UTC');
    table
      .timestamp('updated_at', { useTz: false })
      .notNullable()
      .defaultTo(knex.raw("(now() at time zone 'utc')"))
      .comment(
        'When it or its versions last changed, in UTC. Rises by at least a microsecond with every change, so that it also names the state of the mockup',
      );
    // Every order that a list offers.
    table.index(['owner', 'updated_at', 'id'], 'mockups_owner_idx');
    table.index(['updated_at', 'id'], 'mockups_updated_at_idx');
    table.index(['created_at', 'id'], 'mockups_created_at_idx');
    table.index(['name', 'id'], 'mockups_name_idx');
  });

  await knex.raw(`
    alter table mockups
      add constraint mockups_name_check
        check (char_length(name) between 1 and 255),
      add constraint mockups_description_check
        check (char_length(description) <= 1000),
      add constraint mockups_owner_check
        check (owner ~ '^user:[^/]+/.+$')
  `);
}

/** @param {import('knex').Knex} knex */
async function createVersions(knex) {
  await knex.schema.createTable('mockup_versions', table => {
    table.comment('Saved layouts of mockups. Rows are never updated');
    table
      .uuid('id')
      .primary()
      .defaultTo(knex.raw('gen_random_uuid()'))
      .comment('Identifies the version');
    table
      .uuid('mockup_id')
      .notNullable()
      .references('id')
      .inTable('mockups')
      .onDelete('CASCADE')
      .comment('The mockup whose layout this is');
    table
      .specificType('version_tag', 'varchar')
      .comment('A name for the version, at most 50 characters');
    table
      .jsonb('layout_data')
      .notNullable()
      .comment('The layout: a list of at most 1000 positioned grid items');
    table
      .specificType('created_by', 'varchar')
      .notNullable()
      .comment('The user who saved it, as user:<namespace>/<name>');
    table
      .timestamp('created_at', { useTz: false })
      .notNullable()
      .comment(
        'When it was saved, in UTC, to the microsecond. No two versions of a mockup share it, which gives them a definite order',
      );
    // Finds the newest version of a mockup without looking at the others.
    table.unique(['mockup_id', 'created_at'], {
      indexName: 'mockup_versions_order_key',
    });
  });

  await knex.raw(`
    alter table mockup_versions
      add constraint mockup_versions_version_tag_check
        check (char_length(version_tag) <= 50),
      add constraint mockup_versions_created_by_check
        check (created_by ~ '^user:[^/]+/.+$'),
      add constraint mockup_versions_layout_size_check
        check (octet_length(layout_data::text) <= 4 * 1024 * 1024),
      add constraint mockup_versions_layout_data_check
        check (
          case when jsonb_typeof(layout_data) = 'array' then
            jsonb_array_length(layout_data) <= 1000
            and jsonb_array_length(layout_data) = jsonb_array_length(
              jsonb_path_query_array(layout_data, '${validItems()}')
            )
          else false end
        )
  `);
}

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

/**
 * The searchable text has a separate table with a trigram index, the only kind that
 * finds any part of a text. On `mockups` itself, every saved version would index
 * the whole text again, because it changes updated_at, which other indexes cover.
 *
 * @param {import('knex').Knex} knex
 */
async function createSearch(knex) {
  await knex.schema.createTable('mockup_search', table => {
    table.comment('The searchable text of mockups, kept by a trigger');
    table
      .uuid('mockup_id')
      .primary()
      .references('id')
      .inTable('mockups')
      .onDelete('CASCADE')
      .comment('The mockup whose text this is');
    table
      .specificType('name', 'varchar')
      .notNullable()
      .comment('The name of the mockup');
    table.text('description').comment('The description of the mockup');
  });

  const operators = `${await provideTrigrams(knex)}.gin_trgm_ops`;
  await knex.raw(`
    create index mockup_search_text_idx on mockup_search
      using gin (name ${operators}, description ${operators})
  `);

  // Qualified, because the search path of the writing session may differ.
  await knex.raw(`
    create function mockup_search_refresh() returns trigger language plpgsql
      set search_path from current as $$
    begin
      insert into mockup_search (mockup_id, name, description)
      values (new.id, new.name, new.description)
      on conflict (mockup_id) do update
        set name = excluded.name, description = excluded.description;
      return null;
    end
    $$
  `);
  await knex.raw(`
    create trigger mockup_search_refresh
      after insert or update of name, description on mockups
      for each row execute function mockup_search_refresh()
  `);
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
