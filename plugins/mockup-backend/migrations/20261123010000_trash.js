// @ts-check
const { briefly } = require('./support/briefly');
const { createTenantPolicy, forceAsOthers } = require('./support/tenantPolicy');
const { putToTrash } = require('./support/toTrash');

/**
 * Keeps what is deleted: a trigger copies a mockup and its versions to the trash.
 *
 * A trigger, so that nothing that reads mockups has to leave deleted ones out, and that
 * whoever deletes finds it there: other plugins, an administrator, and the backends of the
 * version before this one, which work beside it while it is rolled out. Those have no right
 * to the new tables; the trigger acts with the rights of the tables' owner.
 *
 * It runs while backends work. To create a trigger takes SHARE ROW EXCLUSIVE on mockups for
 * a change of the system catalogs alone, and waits a second at a time for it, so that writers
 * do not pile up behind it. The new tables are seen by no one before.
 */
exports.config = { transaction: false };

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    await createTables(transaction);
    await putToTrash(transaction, {});
    await transaction.raw(`
      create trigger mockup_to_trash before delete on mockups
        for each row execute function mockup_to_trash()`);
  });
};

/** @param {import('knex').Knex} knex */
async function createTables(knex) {
  // Types and bounds are those of the rows that are copied here.
  await knex.raw(`
    create table mockup_trash (
      tenant_id uuid not null,
      id uuid not null,
      name varchar not null,
      description text,
      owner varchar not null,
      created_at timestamp not null,
      updated_at timestamp not null,
      deleted_at timestamp not null,
      deleted_by varchar,
      primary key (tenant_id, id)
    )`);
  await knex.raw(`
    create table mockup_trash_versions (
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
        on delete cascade
    )`);
  // The order of the list, and what the retention looks for.
  await knex.raw(
    'create index mockup_trash_list_idx on mockup_trash (tenant_id, deleted_at, id)',
  );
  await knex.raw(
    'create index mockup_trash_deleted_at_idx on mockup_trash (deleted_at)',
  );
  await knex.raw(`
    comment on table mockup_trash is
      'Deleted mockups, until they are restored or their retention ends. A trigger on mockups puts them here'`);
  await knex.raw(`
    comment on table mockup_trash_versions is
      'The versions of deleted mockups, as they were'`);
  await knex.raw(`
    comment on column mockup_trash.deleted_by is
      'The user who deleted it, as user:<namespace>/<name>. Unknown where it was not deleted by a request, or by an earlier version of the plugin'`);
  for (const table of ['mockup_trash', 'mockup_trash_versions']) {
    await createTenantPolicy(knex, table);
    await forceAsOthers(knex, table);
  }
}

/**
 * Takes the trash away with what is in it, with the same lock. From then on, what is deleted
 * is gone.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, async transaction => {
    await transaction.raw('drop trigger if exists mockup_to_trash on mockups');
    await transaction.raw('drop function if exists mockup_to_trash');
    await transaction.raw('drop table if exists mockup_trash_versions');
    await transaction.raw('drop table if exists mockup_trash');
  });
};
