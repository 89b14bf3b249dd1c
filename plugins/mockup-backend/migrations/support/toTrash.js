// @ts-check

const MOCKUP_COLUMNS = [
  ...['tenant_id', 'id', 'name', 'description', 'owner'],
  ...['created_at', 'updated_at', 'readers', 'writers'],
];
const VERSION_COLUMNS =
  'tenant_id, mockup_id, id, version_tag, layout_data, created_by, created_at, restored_from';

exports.VERSION_COLUMNS = VERSION_COLUMNS;

/**
 * Creates or replaces the function of the trigger that copies what is deleted to the trash. It
 * keeps its owner, with whose rights it acts. It takes no lock on mockups: deletions that run use
 * the one or the other.
 *
 * It holds the lock of the deleted row, and its queries see what was committed before it
 * got that: a version that is saved at the same time is either in the trash or refused.
 * The temporary schema comes last, where no caller can put tables of these names before.
 *
 * @param {import('knex').Knex} knex
 * @param {string} [version] the columns of versions that go to the trash
 */
exports.putToTrash = async function putToTrash(
  knex,
  version = VERSION_COLUMNS,
) {
  const { rows } = await knex.raw(
    'select quote_ident(current_schema()) as schema',
  );
  await knex.raw(`
    create or replace function mockup_to_trash() returns trigger language plpgsql
      security definer set search_path = ${rows[0].schema}, pg_temp as $$
    begin
      insert into mockup_trash (${MOCKUP_COLUMNS.join(
        ', ',
      )}, deleted_at, deleted_by)
      values (
        ${MOCKUP_COLUMNS.map(column => `old.${column}`).join(', ')},
        clock_timestamp() at time zone 'utc',
        nullif(current_setting('mockup.deleted_by', true), ''));
      insert into mockup_trash_versions (${version})
      select ${version} from mockup_versions
       where tenant_id = old.tenant_id and mockup_id = old.id;
      return old;
    end
    $$`);
};
