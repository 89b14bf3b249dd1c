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
 * Whether this process can serve tenants, with additional details.
 *
 * @public
 */
export type TenancyReadiness = JsonObject & {
  status: 'ok' | 'error';
  /** Set if the status is `error`. */
  reason?: NotReadyReason;
};

/** Why this process can serve no tenants. */
interface Fault {
  reason: NotReadyReason;
  /** In place of the usual one of the reason. */
  message?: string;
}

const MESSAGES: Record<NotReadyReason, string> = {
  'database-away': 'The database of tenants cannot be used',
  'not-migrated': `The tables of tenants are not in place: run "${operatorCommand(
    'status',
  )}"`,
  refused: 'Multi-tenancy did not start: see the log of the backend',
};

/** Probes need no credentials, so results are cached. */
const MAX_AGE_MS = 2_000;
/** Shorter than the timeout of a usual probe. */
const TIMEOUT_MS = 3_000;

const TOO_MANY_SESSIONS = '53300';

/**
 * Tells probes whether this process can serve tenants. Uses a separate connection, because a
 * fully used pool must not take the process out of service.
 *
 * @public
 */
export class TenancyHealth {
  readonly #details = new Map<string, () => JsonValue>();
  #database?: { connection: ClientConfig; schema: string };
  #failure?: NotReadyReason;
  #last?: { at: number; fault: Promise<Fault | undefined> };

  /** Records that multi-tenancy failed to start. */
  startFailed(error: unknown): void {
    this.#failure =
      error instanceof TenancyStartupError ? error.reason : 'refused';
  }

  /** Sets the database to examine. */
  watch(database: { connection: ClientConfig; schema: string }): void {
    this.#database = database;
  }

  /** Adds a detail to the result, such as the number of failing engines. */
  addDetail(name: string, read: () => JsonValue): void {
    this.#details.set(name, read);
  }

  /** Never rejects. */
  async readiness(): Promise<TenancyReadiness> {
    const fault = this.#failure
      ? { reason: this.#failure }
      : await this.#look();
    return fault
      ? { status: 'error', message: MESSAGES[fault.reason], ...fault }
      : {
          status: 'ok',
          ...Object.fromEntries(
            [...this.#details].map(([name, read]) => [name, read()]),
          ),
        };
  }

  async #look(): Promise<Fault | undefined> {
    if (!this.#database) {
      return undefined;
    }
    const now = performance.now();
    if (!this.#last || now - this.#last.at > MAX_AGE_MS) {
      this.#last = { at: now, fault: examine(this.#database) };
    }
    return this.#last.fault;
  }
}

async function examine(database: {
  connection: ClientConfig;
  schema: string;
}): Promise<Fault | undefined> {
  try {
    const isReady = await withClient(
      database.connection,
      client => hasTable(client, database.schema, READY_TABLE),
      { timeoutMs: TIMEOUT_MS },
    );
    return isReady ? undefined : { reason: 'not-migrated' };
  } catch (error) {
    const code = faultCode(error);
    // The pool still has its sessions.
    return code === TOO_MANY_SESSIONS
      ? undefined
      : {
          reason: 'database-away',
          ...(code && {
            message: `${MESSAGES['database-away']} (${code})`,
          }),
        };
  }
}
