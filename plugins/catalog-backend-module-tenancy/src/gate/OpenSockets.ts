import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  ActiveTenant,
  RegistryChange,
  TenantChanges,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** An open connection that has passed the gate. */
interface OpenSocket {
  socket: Duplex;
  tenant: ActiveTenant;
  /** Whether the gate would still admit the caller. */
  mayStay: () => Promise<boolean>;
}

/** Durations in milliseconds. */
export interface SocketsTiming {
  /** The interval of checks of each connection: changes of groups send no notification. */
  checkMs: number;
  /** A connection whose check takes longer is closed. */
  answerMs: number;
}

const SOCKETS_TIMING: SocketsTiming = {
  checkMs: 30_000,
  answerMs: 5_000,
};

const RETRY_MS = 250;

/** The number of concurrent checks. */
const AT_ONCE = 20;

/**
 * The WebSockets of all plugins that passed the gate. Closes those whose caller may no longer
 * enter the tenant, or whose tenant is no longer active.
 */
export class OpenSockets {
  readonly #logger: LoggerService;
  readonly #timing: SocketsTiming;
  readonly #open = new Set<OpenSocket>();
  #timer?: NodeJS.Timeout;

  constructor(options: {
    changes: TenantChanges;
    logger: LoggerService;
    timing?: SocketsTiming;
  }) {
    this.#logger = options.logger;
    this.#timing = options.timing ?? SOCKETS_TIMING;
    options.changes.onChange(change => {
      void this.#checkAll(({ tenant }) => concerns(change, tenant));
    });
  }

  /** Checks a connection regularly until it is closed. */
  add(entry: OpenSocket): void {
    const { socket } = entry;
    this.#open.add(entry);
    this.#timer ??= setInterval(
      () => void this.#checkAll(() => true),
      this.#timing.checkMs,
    ).unref();
    socket.once('close', () => {
      this.#open.delete(entry);
      if (this.#open.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    });
    // Changes between the gate and this call were not checked for it.
    void this.#check(entry);
  }

  async #checkAll(isMeant: (entry: OpenSocket) => boolean): Promise<void> {
    const entries = [...this.#open].filter(isMeant);
    while (entries.length > 0) {
      await Promise.all(
        entries.splice(0, AT_ONCE).map(entry => this.#check(entry)),
      );
    }
  }

  /** Never rejects. */
  async #check({ socket, tenant, mayStay }: OpenSocket): Promise<void> {
    const ended = new AbortController();
    const { signal } = ended;
    const options = { ref: false, signal };
    const stays = await Promise.race([
      delay(this.#timing.answerMs, false, options),
      answerOf(mayStay, options),
    ]).finally(() => ended.abort());
    if (!stays && !socket.destroyed) {
      this.#logger.debug(
        `Closed a WebSocket of the tenant '${tenant.tenantSlug}', which its caller may not enter any more`,
      );
      socket.destroy();
    }
  }
}

/** Retries, because the database may be unavailable for a moment. */
async function answerOf(
  mayStay: () => Promise<boolean>,
  options: { signal: AbortSignal },
): Promise<boolean> {
  for (;;) {
    try {
      return await mayStay();
    } catch {
      await delay(RETRY_MS, undefined, options);
    }
  }
}

function concerns(
  change: RegistryChange | undefined,
  { tenantId, tenantSlug }: ActiveTenant,
): boolean {
  return (
    change === undefined ||
    ('tenantSlug' in change && change.tenantSlug === tenantSlug) ||
    ('membersOf' in change && change.membersOf === tenantId)
  );
}
