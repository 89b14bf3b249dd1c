// @ts-check
const { briefly } = require('./support/briefly');
const { createTenantTable } = require('./support/tenantTable');

/**
 * Keeps what people say of mockups, which versions a reviewer has marked as ready, whether a tenant
 * publishes no others, and who has an editor open.
 *
 * Comments stay while their mockup is in the trash, and go with it from there: a trigger deletes
 * them where a mockup leaves the trash and is not back.
 *
 * It runs while backends work. The new tables are seen by no one before. Their foreign keys take
 * SHARE ROW EXCLUSIVE on mockups and mockup_versions, and the trigger on mockup_trash, for a change
 * of the system catalogs alone. They wait for it no longer than a second at a time, so that writers
 * do not pile up behind them.
 */
exports.config = { transaction: false };

const USER = `~ '^user:[^/]+/.+$'`;

const TABLES = {
  mockup_comments: {
    comment: 'What people say of mockups and of items on them',
    columns: {
      tenant_id: 'The tenant of the mockup',
      id: 'Identifies the comment',
      mockup_id: 'The mockup, which may be in the trash',
      item: 'The item that it is about, as layouts call it in i; null for the whole',
      text: 'What is said, 1 to 2000 characters',
      author: 'Who has said it, as user:<namespace>/<name>',
      created_at: 'When, in UTC',
      resolved_by: 'Who has resolved it, as user:<namespace>/<name>',
      resolved_at: 'When, in UTC',
    },
    create: `(
      tenant_id uuid not null,
      id uuid primary key default gen_random_uuid(),
      mockup_id uuid not null,
      item varchar,
      text text not null,
      author varchar not null,
      created_at timestamp not null,
      resolved_by varchar,
      resolved_at timestamp,
      constraint mockup_comments_item_check
        check (char_length(item) between 1 and 255),
      constraint mockup_comments_text_check
        check (char_length(text) between 1 and 2000),
      constraint mockup_comments_author_check check (author ${USER}),
      constraint mockup_comments_resolved_check check (
        (resolved_by is null) = (resolved_at is null) and resolved_by ${USER}))`,
  },
  mockup_ready_versions: {
    comment: 'Versions that a reviewer has marked as ready',
    columns: {
      tenant_id: 'The tenant of the mockup',
      version_id: 'The version',
      ready_by: 'The reviewer, as user:<namespace>/<name>',
      ready_at: 'When, in UTC',
    },
    create: `(
      tenant_id uuid not null,
      version_id uuid primary key
        constraint mockup_ready_versions_version_fkey
        references mockup_versions (id) on delete cascade,
      ready_by varchar not null
        constraint mockup_ready_versions_ready_by_check check (ready_by ${USER}),
      ready_at timestamp not null)`,
  },
  mockup_settings: {
    comment: 'What tenants have decided on mockups',
    columns: {
      tenant_id: 'The tenant',
      review_required:
        'Whether a version has to be ready before it is published',
      updated_by: 'Who has decided so, as user:<namespace>/<name>',
      updated_at: 'When, in UTC',
    },
    create: `(
      tenant_id uuid primary key,
      review_required boolean not null,
      updated_by varchar not null
        constraint mockup_settings_updated_by_check check (updated_by ${USER}),
      updated_at timestamp not null)`,
  },
  mockup_editors: {
    comment: 'Who has an editor open, as editors say every few seconds',
    columns: {
      tenant_id: 'The tenant of the mockup',
      mockup_id: 'The mockup',
      editor: 'The user, as user:<namespace>/<name>',
      seen_at: 'When the editor has last said so, in UTC',
    },
    create: `(
      tenant_id uuid not null,
      mockup_id uuid not null,
      editor varchar not null
        constraint mockup_editors_editor_check check (editor ${USER}),
      seen_at timestamp not null,
      primary key (tenant_id, mockup_id, editor),
      constraint mockup_editors_mockup_fkey
        foreign key (tenant_id, mockup_id) references mockups (tenant_id, id)
        on delete cascade)`,
  },
};

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    for (const [table, options] of Object.entries(TABLES)) {
      await createTenantTable(transaction, table, options);
    }
    await transaction.raw(
      'create index if not exists mockup_comments_mockup_idx on mockup_comments (tenant_id, mockup_id, created_at)',
    );
    const { rows } = await transaction.raw(
      'select quote_ident(current_schema()) as schema',
    );
    // After the statement: one that restores a mockup has made its row by then.
    await transaction.raw(`
      create or replace function mockup_comments_of_purged() returns trigger language plpgsql
        set search_path = ${rows[0].schema}, pg_temp as $$
      begin
        delete from mockup_comments
         where tenant_id = old.tenant_id and mockup_id = old.id
           and not exists (
             select from mockups where tenant_id = old.tenant_id and id = old.id);
        return null;
      end
      $$`);
    await transaction.raw(
      'drop trigger if exists mockup_comments_of_purged on mockup_trash',
    );
    await transaction.raw(`
      create trigger mockup_comments_of_purged after delete on mockup_trash
        for each row execute function mockup_comments_of_purged()`);
  });
};

/**
 * Forgets all comments and what is ready, with the same locks.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await transaction.raw(
      'drop trigger if exists mockup_comments_of_purged on mockup_trash',
    );
    await transaction.raw('drop function if exists mockup_comments_of_purged');
    for (const table of Object.keys(TABLES)) {
      await transaction.raw(`drop table if exists ${table}`);
    }
  });
};
