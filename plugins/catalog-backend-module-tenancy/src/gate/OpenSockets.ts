import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  ActiveTenant,
  RegistryChange,
  TenantChanges,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** A connection that has passed the gate, and stays open. */
interface OpenSocket {
  socket: Duplex;
  tenant: ActiveTenant;
  /** Whether its caller would still be let in. */
  mayStay: () => Promise<boolean>;
}

/** In milliseconds. */
export interface SocketsTiming {
  /** How often each is looked at, whatever is heard of changes: groups change unheard. */
  checkMs: number;
  /** One of which it can't be found out in this time is closed. */
  answerMs: number;
}

export const SOCKETS_TIMING: SocketsTiming = {
  checkMs: 30_000,
  answerMs: 5_000,
};

const RETRY_MS = 250;

/** How many are looked at at the same time. */
const AT_ONCE = 20;

/**
 * The WebSockets of all plugins that the gate has let pass. Those whose caller would no longer
 * be let in, or whose tenant is not active any more, are closed.
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

  /** Follows a connection until it is closed. */
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
    // It was let in a moment ago; what has changed since was not heard for it.
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

/** The database may be away for a moment. */
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
