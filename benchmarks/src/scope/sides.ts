import type { PostgresConnection } from '@internal/postgres';
import createKnex from 'knex';
import { Pool } from 'pg';
import type { Database } from '../harness/database';
import { APP_LOGIN, PASSWORD, SCHEMA } from '../harness/backend';
import type { Question } from './data';
import {
  PooledTenantDatabase,
  PostgresCatalogStore,
  TenancyPool,
} from './library';

/** A way to read an entity of a tenant. */
export interface Side {
  name: string;
  getEntity(question: Question): Promise<object | undefined>;
  close(): Promise<void>;
}

/** How a side reaches its database. */
export interface Access {
  connection: PostgresConnection;
  database: Database;
}

// Each side waits while the others are measured.
const IDLE_TIMEOUT_MS = 3_600_000;

const SILENT = {
  error() {},
  warn() {},
  info() {},
  debug() {},
  child: () => SILENT,
};

/** What callers of this library use. */
export function openOurs({ connection, database }: Access): Side {
  const pool = TenancyPool.create({
    connection: {
      ...connection,
      database: database.name,
      user: APP_LOGIN,
      password: PASSWORD,
    },
    schema: SCHEMA,
    pool: {
      max: 1,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      connectionTimeoutMs: 10_000,
    },
    logger: SILENT,
  });
  const store = new PostgresCatalogStore({
    database: new PooledTenantDatabase(pool),
  });
  return {
    name: 'ours',
    getEntity: ({ tenantId, entityRef }) =>
      store.getEntity(tenantId, entityRef),
    close: () => pool.close(),
  };
}

/** The textbook: a transaction whose first statement sets the tenant. */
export function openTransactions(access: Access): Side {
  const knex = createKnex({
    client: 'pg',
    connection: {
      ...access.connection,
      database: access.database.name,
      user: APP_LOGIN,
      password: PASSWORD,
    },
    searchPath: [SCHEMA],
    pool: {
      min: 0,
      max: 1,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
    },
  });
  return {
    name: 'knex.transaction',
    getEntity: ({ tenantId, entityRef }) =>
      knex.transaction(async tx => {
        await tx.raw(`select set_config('app.tenant_id', ?, true)`, [tenantId]);
        const row = await tx('entities')
          .where({ tenant_id: tenantId, entity_ref: entityRef })
          .whereNull('deleted_at')
          .first('final_entity');
        return row?.final_entity;
      }),
    close: () => knex.destroy(),
  };
}

/** No tenants and no policy: one statement, as a superuser. */
export function openBare({ connection, database }: Access): Side {
  const pool = new Pool({
    ...connection,
    database: database.name,
    max: 1,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
  });
  return {
    name: 'bare query',
    async getEntity({ entityRef }) {
      const { rows } = await pool.query<{ json: string }>(
        `select final_entity::text as json from ${SCHEMA}.entities
          where deleted_at is null and entity_ref = $1`,
        [entityRef],
      );
      return rows[0] && JSON.parse(rows[0].json);
    },
    close: () => pool.end(),
  };
}
