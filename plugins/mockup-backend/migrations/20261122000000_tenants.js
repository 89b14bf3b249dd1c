// @ts-check
const { briefly } = require('./support/briefly');
const {
  createTenantPolicy,
  DEFAULT_TENANT,
} = require('./support/tenantPolicy');

/**
 * Gives each mockup a tenant.
 *
 * It runs while backends work, those of the version before it included: their
 * mockups, like the existing ones, are the default tenant's. No lock is held while
 * rows are read or written:
 *
 * - columns, constraints and policies take ACCESS EXCLUSIVE, or SHARE ROW EXCLUSIVE
 *   for a foreign key, for a change of the system catalogs alone. They wait a second
 *   for it, so that requests do not pile up behind them, and then try again;
 * - indexes are built and dropped CONCURRENTLY, and foreign keys are validated after
 *   they were added: both take SHARE UPDATE EXCLUSIVE, which keeps neither readers nor
 *   writers waiting.
 *
 * That takes several transactions. Each step leaves alone what an earlier run, cut
 * short, has done.
 */
exports.config = { transaction: false };

const TABLES = ['mockups', 'mockup_versions', 'mockup_search'];

/** The tables whose rows belong to a mockup. */
const PARTS = ['mockup_versions', 'mockup_search'];

/** By name: the table, the columns, and whether it is unique. */
const INDEXES = {
  // What the foreign keys of the parts refer to.
  mockups_tenant_key: ['mockups', 'tenant_id, id', 'unique'],
  // Every order that a list offers.
  mockups_tenant_owner_idx: ['mockups', 'tenant_id, owner, updated_at, id'],
  mockups_tenant_updated_at_idx: ['mockups', 'tenant_id, updated_at, id'],
  mockups_tenant_created_at_idx: ['mockups', 'tenant_id, created_at, id'],
  mockups_tenant_name_idx: ['mockups', 'tenant_id, name, id'],
  mockup_search_tenant_idx: ['mockup_search', 'tenant_id, mockup_id'],
};

/** What they replace: every saved version writes to each index of its mockup. */
const INDEXES_BEFORE = {
  mockups_owner_idx: ['mockups', 'owner, updated_at, id'],
  mockups_updated_at_idx: ['mockups', 'updated_at, id'],
  mockups_created_at_idx: ['mockups', 'created_at, id'],
  mockups_name_idx: ['mockups', 'name, id'],
};

/**
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.up = async function up(knex) {
  await briefly(knex, async transaction => {
    for (const table of TABLES) {
      // A constant default is written to no row.
      await transaction.raw(`
        alter table ${table} add column if not exists tenant_id uuid not null
          default '${DEFAULT_TENANT}'`);
      await transaction.raw(`
        comment on column ${table}.tenant_id is
          'The tenant that the mockup belongs to. The default tenant has all that were there before, and all of a backend without tenants'`);
    }
    await keepSearch(transaction, ['tenant_id']);
  });

  await buildIndexes(knex, INDEXES);

  for (const table of PARTS) {
    await briefly(knex, transaction =>
      addForeignKey(transaction, table, `${table}_mockup_fkey`, [
        'tenant_id, mockup_id',
        'tenant_id, id',
      ]),
    );
    await knex.raw(
      `alter table ${table} validate constraint ${table}_mockup_fkey`,
    );
    await briefly(knex, transaction =>
      transaction.raw(`
        alter table ${table} drop constraint if exists ${table}_mockup_id_foreign`),
    );
  }

  // They bind no one yet: the plugin enables row-level security when it starts with
  // tenants, because that has an effect on other logins, such as those of backups.
  await briefly(knex, async transaction => {
    for (const table of TABLES) {
      await transaction.raw(
        `drop policy if exists ${table}_tenant on ${table}`,
      );
      await createTenantPolicy(transaction, table);
    }
  });

  await dropIndexes(knex, INDEXES_BEFORE);
};

/**
 * Takes the tenants away, with the same locks. It refuses while a tenant other than
 * the default one has mockups, which would be the default tenant's from then on.
 *
 * @param {import('knex').Knex} knex
 * @returns {Promise<void>}
 */
exports.down = async function down(knex) {
  const { rows } = await knex.raw(`
    select tenant_id as tenant, count(*) as mockups from mockups
     where tenant_id <> '${DEFAULT_TENANT}' group by tenant_id order by tenant_id`);
  if (rows.length > 0) {
    const counts = rows.map(
      /** @param {{ tenant: string, mockups: string }} row */
      ({ tenant, mockups }) => `${tenant} (${mockups})`,
    );
    throw new Error(
      `These tenants have mockups, which would become the default tenant's: ${counts.join(
        ', ',
      )}. Move or delete them first`,
    );
  }

  await buildIndexes(knex, INDEXES_BEFORE);
  await briefly(knex, async transaction => {
    for (const table of TABLES) {
      await transaction.raw(
        `drop policy if exists ${table}_tenant on ${table}`,
      );
      await transaction.raw(`
        alter table ${table} no force row level security,
          disable row level security`);
    }
  });
  for (const table of PARTS) {
    await briefly(knex, transaction =>
      addForeignKey(transaction, table, `${table}_mockup_id_foreign`, [
        'mockup_id',
        'id',
      ]),
    );
    await knex.raw(
      `alter table ${table} validate constraint ${table}_mockup_id_foreign`,
    );
    await briefly(knex, transaction =>
      transaction.raw(`
        alter table ${table} drop constraint if exists ${table}_mockup_fkey`),
    );
  }
  await dropIndexes(knex, INDEXES);
  await briefly(knex, async transaction => {
    await keepSearch(transaction, []);
    for (const table of TABLES) {
      await transaction.raw(
        `alter table ${table} drop column if exists tenant_id`,
      );
    }
  });
};

/**
 * Replaces the function of the trigger that keeps the searchable text. CREATE OR
 * REPLACE locks no table.
 *
 * @param {import('knex').Knex} knex
 * @param {string[]} more - further columns that it takes from the mockup
 */
async function keepSearch(knex, more) {
  const columns = [...more, 'name', 'description'];
  await knex.raw(`
    create or replace function mockup_search_refresh() returns trigger
      language plpgsql set search_path from current as $$
    begin
      insert into mockup_search (mockup_id, ${columns.join(', ')})
      values (new.id, ${columns.map(column => `new.${column}`).join(', ')})
      on conflict (mockup_id) do update
        set name = excluded.name, description = excluded.description;
      return null;
    end
    $$`);
}

/**
 * Adds a foreign key to mockups, which binds new rows from then on and, once it is
 * validated, all.
 *
 * @param {import('knex').Knex} knex
 * @param {string} table
 * @param {string} name
 * @param {[string, string]} columns - of the table, and of mockups
 */
async function addForeignKey(knex, table, name, [columns, referenced]) {
  await knex.raw(`alter table ${table} drop constraint if exists ${name}`);
  await knex.raw(`
    alter table ${table} add constraint ${name}
      foreign key (${columns}) references mockups (${referenced})
      on delete cascade not valid`);
}

/**
 * @param {import('knex').Knex} knex
 * @param {Record<string, string[]>} indexes
 */
async function buildIndexes(knex, indexes) {
  for (const [name, [table, columns, unique = '']] of Object.entries(indexes)) {
    // An earlier run that was cut short leaves one that is invalid.
    const { rows } = await knex.raw(
      `select 1 from pg_index
        where indexrelid = to_regclass(?) and not indisvalid`,
      [name],
    );
    if (rows.length > 0) {
      await knex.raw(`drop index concurrently ${name}`);
    }
    await knex.raw(
      `create ${unique} index concurrently if not exists ${name} on ${table} (${columns})`,
    );
  }
}

/**
 * @param {import('knex').Knex} knex
 * @param {Record<string, string[]>} indexes
 */
async function dropIndexes(knex, indexes) {
  for (const name of Object.keys(indexes)) {
    await knex.raw(`drop index concurrently if exists ${name}`);
  }
}
