import { APP_LOGIN, PASSWORD } from '../catalog/constants';
import type { Database } from '../migration/database';
import { TENANT_ID } from './database';
import { jsonStatement } from './json';
import {
  PooledTenantDatabase,
  PostgresCatalogStore,
  type TenancyPool,
} from './library';
import type { Question } from './questions';
import { openTenancyPool } from './tenancyPool';

const LIMIT = 20;

/** A way to answer questions about a tenant. */
export interface Candidate {
  name: string;
  /** How many there are, and how many of them the page has. */
  ask(question: Question): Promise<{ total: number; rows: number }>;
}

/** All candidates, ours first, on connections of their own. */
export async function withCandidates<T>(
  { postgres, name: database }: Database,
  use: (candidates: Candidate[]) => Promise<T>,
): Promise<T> {
  const open = (login: { user: string; password: string }) =>
    openTenancyPool({ ...postgres.connection, database, ...login }, 1);
  const app = open({ user: APP_LOGIN, password: PASSWORD });
  // No policy binds a superuser.
  const unbound = open(postgres.connection);
  try {
    return await use([
      terms('terms', app),
      terms('terms, no policy', unbound),
      json('JSON, function', 'function', app),
      json('JSON, policy', 'policy', app),
    ]);
  } finally {
    await Promise.all([app.close(), unbound.close()]);
  }
}

function terms(name: string, pool: TenancyPool): Candidate {
  const database = new PooledTenantDatabase(pool);
  const store = new PostgresCatalogStore({ database, pool });
  return {
    name,
    async ask({ query }) {
      const { rows, totalItems = 0 } = await store.readPage(TENANT_ID, {
        ...query,
        order: { field: 'metadata.name', order: 'asc' },
        limit: LIMIT,
        total: true,
      });
      return { total: totalItems, rows: rows.length };
    },
  };
}

function json(
  name: string,
  by: 'function' | 'policy',
  pool: TenancyPool,
): Candidate {
  const database = new PooledTenantDatabase(pool);
  return {
    name,
    async ask(question) {
      const { text, values } = jsonStatement(question.json, by);
      const rows = await database.query<{ total: number }>(
        TENANT_ID,
        ({ knex }) =>
          knex.raw(
            text.replaceAll(/\$(\d)/g, ':v$1'),
            Object.fromEntries(
              values.map((value, index) => [`v${index + 1}`, value]),
            ),
          ),
      );
      return { total: rows[0]?.total ?? 0, rows: rows.length };
    },
  };
}
