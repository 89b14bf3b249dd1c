// @ts-check
const { briefly } = require('./support/briefly');
const { createTenantTable } = require('./support/tenantTable');

/**
 * Says which versions of mockups are shown as pages, at which paths and to whom.
 *
 * A deleted mockup takes its pages along, and nothing brings them back. A version that is a page
 * is not deleted while its mockup stays: the foreign key is checked at the commit, when the pages
 * of a deleted mockup are gone too.
 *
 * It runs while backends work. The new table is seen by no one before. Its foreign keys take SHARE
 * ROW EXCLUSIVE on mockups and mockup_versions for a change of the system catalogs alone, and wait
 * for it no longer than a second at a time, so that writers do not pile up behind them.
 */
exports.config = { transaction: false };

const PAGES = {
  comment: 'Versions of mockups that are pages of the portal',
  columns: {
    tenant_id: 'The tenant of the mockup',
    path: 'The last segment of the address: lower-case letters, digits and single hyphens, at most 100',
    title: 'What the page is called, 1 to 255 characters',
    mockup_id: 'The mockup',
    version_id: 'The version that is shown',
    audience:
      'Who sees it beside who published it: everybody, group:<namespace>/<name>, or role:<role> with those who have a higher one',
    is_home: 'Whether it is the home page of its audience',
    published_by: 'The user who published it, as user:<namespace>/<name>',
    published_at: 'When, in UTC',
  },
  create: `(
      tenant_id uuid not null,
      path varchar not null,
      title varchar not null,
      mockup_id uuid not null,
      version_id uuid not null,
      audience varchar not null,
      is_home boolean not null,
      published_by varchar not null,
      published_at timestamp not null,
      primary key (tenant_id, path),
      constraint mockup_pages_mockup_fkey
        foreign key (tenant_id, mockup_id) references mockups (tenant_id, id)
        on delete cascade,
      constraint mockup_pages_version_fkey
        foreign key (version_id) references mockup_versions (id)
        deferrable initially deferred,
      constraint mockup_pages_path_check check (
        char_length(path) <= 100
        and path collate "C" ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
      constraint mockup_pages_title_check
        check (char_length(title) between 1 and 255),
      constraint mockup_pages_audience_check check (
        audience ~ '^(everybody|role:(viewer|member|admin)|group:[^/]+/.+)$'),
      constraint mockup_pages_published_by_check
        check (published_by ~ '^user:[^/]+/.+$'))`,
};

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    await createTenantTable(transaction, 'mockup_pages', PAGES);
    // What a deleted mockup or version is looked up by.
    await transaction.raw(
      'create index if not exists mockup_pages_mockup_idx on mockup_pages (tenant_id, mockup_id)',
    );
    await transaction.raw(
      'create index if not exists mockup_pages_version_idx on mockup_pages (version_id)',
    );
  });
};

/**
 * Takes all pages back, with the same locks.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  await briefly(knex, transaction =>
    transaction.raw('drop table if exists mockup_pages'),
  );
};
