// @ts-check
const { briefly } = require('./support/briefly');

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

const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';

/** As the policies of the other tables have it. */
const SESSION_TENANT = `cast(
  coalesce(nullif(current_setting('app.tenant_id', true), ''), '${DEFAULT_TENANT}')
  as uuid)`;

const MOCKUP_COLUMNS =
  'tenant_id, id, name, description, owner, created_at, updated_at';
const VERSION_COLUMNS =
  'tenant_id, mockup_id, id, version_tag, layout_data, created_by, created_at, restored_from';

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    await createTables(transaction);
    await createTrigger(transaction);
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
    await knex.raw(`
      create policy ${table}_tenant on ${table}
        using (tenant_id = ${SESSION_TENANT})
        with check (tenant_id = ${SESSION_TENANT})`);
  }
  // An administrator may have had the policies bind the owner of the other tables.
  await knex.raw(`
    do $$ begin
      if (select relforcerowsecurity from pg_class
           where oid = 'mockups'::regclass) then
        alter table mockup_trash force row level security;
        alter table mockup_trash_versions force row level security;
      end if;
    end $$`);
}

/** @param {import('knex').Knex} knex */
async function createTrigger(knex) {
  const { rows } = await knex.raw(
    'select quote_ident(current_schema()) as schema',
  );
  // It holds the lock of the deleted row, and its queries see what was committed before it
  // got that: a version that is saved at the same time is either in the trash or refused.
  // The temporary schema comes last, where no caller can put tables of these names before.
  await knex.raw(`
    create function mockup_to_trash() returns trigger language plpgsql
      security definer set search_path = ${rows[0].schema}, pg_temp as $$
    begin
      insert into mockup_trash (${MOCKUP_COLUMNS}, deleted_at, deleted_by)
      values (
        ${MOCKUP_COLUMNS.split(', ')
          .map(column => `old.${column}`)
          .join(', ')},
        clock_timestamp() at time zone 'utc',
        nullif(current_setting('mockup.deleted_by', true), ''));
      insert into mockup_trash_versions (${VERSION_COLUMNS})
      select ${VERSION_COLUMNS} from mockup_versions
       where tenant_id = old.tenant_id and mockup_id = old.id;
      return old;
    end
    $$`);
  await knex.raw(`
    create trigger mockup_to_trash before delete on mockups
      for each row execute function mockup_to_trash()`);
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
