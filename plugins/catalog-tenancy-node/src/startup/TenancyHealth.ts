import type { JsonObject, JsonValue } from '@backstage/types';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import { READY_TABLE } from '../pool/statements';
import { faultCode, withClient } from './catalogConnection';
import { hasTable } from './layout';
import {
  type NotReadyReason,
  TenancyStartupError,
} from './TenancyStartupError';

/**
 * Whether this process can serve tenants, with numbers that do not decide on it.
 *
 * @public
 */
export type TenancyReadiness = JsonObject & {
  status: 'ok' | 'error';
  /** With status `error`. */
  reason?: NotReadyReason;
};

const MESSAGES: Record<NotReadyReason, string> = {
  'database-away': 'The database of tenants does not answer',
  'not-migrated': `The tables of tenants are not in place: run "${operatorCommand(
    'status',
  )}"`,
  refused: 'Multi-tenancy did not start: the log of the backend says why',
};

/** Anybody may ask, and several probes at once: one look counts for so long. */
const MAX_AGE_MS = 2_000;
/** Shorter than a probe waits. */
const TIMEOUT_MS = 3_000;

const TOO_MANY_SESSIONS = '53300';

/**
 * Tells probes whether this process can serve tenants. It uses a connection of its own, because
 * a pool that is fully in use is no reason to take the process out of service.
 *
 * @public
 */
export class TenancyHealth {
  readonly #details = new Map<string, () => JsonValue>();
  #database?: { connection: ClientConfig; schema: string };
  #failure?: NotReadyReason;
  #last?: { at: number; reason: Promise<NotReadyReason | undefined> };

  /** Notes that tenants can't be served at all. */
  startFailed(error: unknown): void {
    this.#failure =
      error instanceof TenancyStartupError ? error.reason : 'refused';
  }

  /** Looks at this database from now on. */
  watch(database: { connection: ClientConfig; schema: string }): void {
    this.#database = database;
  }

  /** Adds to the answer, such as how many engines fail. */
  addDetail(name: string, read: () => JsonValue): void {
    this.#details.set(name, read);
  }

  /** Never rejects. */
  async readiness(): Promise<TenancyReadiness> {
    const reason = this.#failure ?? (await this.#look());
    return reason
      ? { status: 'error', reason, message: MESSAGES[reason] }
      : {
          status: 'ok',
          ...Object.fromEntries(
            [...this.#details].map(([name, read]) => [name, read()]),
          ),
        };
  }

  async #look(): Promise<NotReadyReason | undefined> {
    if (!this.#database) {
      return undefined;
    }
    const now = performance.now();
    if (!this.#last || now - this.#last.at > MAX_AGE_MS) {
      this.#last = { at: now, reason: examine(this.#database) };
    }
    return this.#last.reason;
  }
}

async function examine(database: {
  connection: ClientConfig;
  schema: string;
}): Promise<NotReadyReason | undefined> {
  try {
    const isReady = await withClient(
      database.connection,
      client => hasTable(client, database.schema, READY_TABLE),
      { timeoutMs: TIMEOUT_MS },
    );
    return isReady ? undefined : 'not-migrated';
  } catch (error) {
    // The pool has its sessions still.
    return faultCode(error) === TOO_MANY_SESSIONS ? undefined : 'database-away';
  }
}
