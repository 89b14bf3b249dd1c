import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  ListTenantAudit,
  TenantAuditEvent,
  TenantAuditPage,
} from 'backstage-plugin-tenants-common';
import { randomUUID } from 'node:crypto';
import type { AuditConfig, AuditWebhookConfig } from '../config/AuditConfig';
import type { TenantDatabase } from '../database/TenantDatabase';
import type { BuildStatement, TenancyPool } from '../pool/TenancyPool';
import { tenantIdOf } from '../tenants/activeTenant';
import { AuditQueue } from './AuditQueue';
import { postToWebhook, WebhookRefusal } from './AuditWebhook';
import { formatCursor, parseListTenantAudit } from './input';
import { describeError, redactMeta, redactText } from './redact';
import type {
  BegunAuditEvent,
  EndedAuditEvent,
  TenantAuditRecord,
  TenantAuditTrail,
} from './TenantAuditTrail';

const TABLE = 'tenant_audit';
// Of the largest events, these fit into 1 MiB, which nginx takes by default.
const SENT_AT_ONCE = 50;

/** So many events are sent alone before the webhook counts as one that takes none at the moment. */
const TRIED_ALONE = 3;
const IS_REFUSED = 'sent = false and refused_at is not null';
const DELETED_AT_ONCE = 10_000;
/** Whether the transaction has changed anything. */
const HAS_WRITTEN = 'pg_current_xact_id_if_assigned() is not null';

/** An event in the queue. */
interface QueuedEvent {
  event_id: string;
  at: string;
  begun: BegunAuditEvent;
  ended?: EndedAuditEvent;
}

/** A row to insert. */
interface Entry {
  event_id: string;
  tenant_id?: string;
  tenant_slug: string;
  at: string;
  plugin: string;
  event: string;
  severity: string;
  actor: string | null;
  ip: string | null;
  user_agent: string | null;
  method: string | null;
  path: string | null;
  outcome: string | null;
  error: string | null;
  meta: object;
}

/** A row as the driver returns it. */
type Row = Omit<TenantAuditEvent, 'id' | 'at' | 'outcome'> & {
  event_id: string;
  at: Date;
  outcome: 'succeeded' | 'failed' | null;
};

type UnsentRow = Row & { tenant_id: string; tenant_slug: string };

const READ_COLUMNS = [
  'event_id',
  'at',
  'plugin',
  'event',
  'severity',
  'outcome',
  'actor',
  'ip',
  'user_agent',
  'method',
  'path',
  'error',
  'meta',
];

/**
 * {@link TenantAuditTrail} on PostgreSQL. Writes as `portal_admin`, events of several tenants
 * in one statement; reads under row-level security.
 *
 * Each statement locks the audit rows that it writes and no others; no other code updates them.
 */
export class PostgresTenantAuditTrail implements TenantAuditTrail {
  readonly #config: AuditConfig;
  readonly #database: TenantDatabase;
  readonly #pool: TenancyPool;
  readonly #queue: AuditQueue<QueuedEvent>;

  constructor(options: {
    config: AuditConfig;
    database: TenantDatabase;
    pool: TenancyPool;
    logger: LoggerService;
  }) {
    const { config, database, pool, logger } = options;
    this.#config = config;
    this.#database = database;
    this.#pool = pool;
    this.#queue = new AuditQueue({
      logger,
      write: events => this.#write(events),
      describe: event => JSON.stringify(toEntry(event)),
    });
  }

  async begin(begun: BegunAuditEvent): Promise<TenantAuditRecord> {
    const event: QueuedEvent = {
      event_id: randomUUID(),
      at: new Date().toISOString(),
      begun,
    };
    await this.#queue.add(event);
    let stored: string | undefined;
    return {
      end: async ended => {
        if (stored !== undefined && stored === JSON.stringify(ended)) {
          return;
        }
        if (begun.severity === 'low') {
          await this.#queue.add({ ...event, ended });
        } else {
          await this.#queue.store({ ...event, ended });
        }
      },
      storeWith: describe => {
        // While the queue writes the begun event, an INSERT with the same id would wait for it. The
        // queue's write may in turn wait for the tenant's row, which the transaction locks. Taken
        // at once, the event of a slow change is written only with it: a process that is killed
        // before has changed nothing.
        const isFree = this.#queue.take(event.event_id);
        let { tenantId } = begun;
        let sent: string | undefined;
        return {
          onTenant: tenant => {
            if (tenant.tenant_slug === begun.tenantSlug) {
              tenantId = tenant.tenant_id;
            }
          },
          build: async () => {
            const ended: EndedAuditEvent = {
              outcome: 'succeeded',
              meta: await describe(),
            };
            if (stored || !isFree) {
              return undefined;
            }
            sent = JSON.stringify(ended);
            return this.#insert(
              [{ ...event, begun: { ...begun, tenantId }, ended }],
              HAS_WRITTEN,
            );
          },
          onCommitted: rows => {
            stored = rows.length > 0 ? sent : undefined;
          },
        };
      },
    };
  }

  async list(
    tenantSlug: string,
    query: ListTenantAudit = {},
  ): Promise<TenantAuditPage> {
    const { limit, after, outcome, ...search } = parseListTenantAudit(query);
    const tenantId = await tenantIdOf(this.#pool, tenantSlug);
    const rows = await this.#database.query<Row>(tenantId, ({ knex }) => {
      const builder = knex(TABLE)
        .select(READ_COLUMNS)
        .where('tenant_id', tenantId)
        .orderBy([
          { column: 'at', order: 'desc' },
          { column: 'event_id', order: 'desc' },
        ])
        .limit(limit + 1);
      if (search.from) {
        builder.where('at', '>=', search.from);
      }
      if (search.to) {
        builder.where('at', '<', search.to);
      }
      if (after) {
        builder.whereRaw('(at, event_id) < (?, ?)', [after.at, after.id]);
      }
      for (const column of ['actor', 'event'] as const) {
        const part = search[column];
        if (part) {
          builder.whereRaw('strpos(lower(??), ?) > 0', [column, part]);
        }
      }
      if (outcome) {
        builder.where('outcome', outcome === 'unknown' ? null : outcome);
      }
      return builder;
    });
    const items = rows.slice(0, limit).map(toEvent);
    const last = items.at(-1);
    return {
      items,
      next_cursor: last && rows.length > limit ? formatCursor(last) : null,
    };
  }

  async deleteOld(signal?: AbortSignal): Promise<number> {
    let count = 0;
    let last = DELETED_AT_ONCE;
    while (last === DELETED_AT_ONCE && !signal?.aborted) {
      const deleted = await this.#asAdmin(knex =>
        knex.raw(
          `delete from ${TABLE} where ctid = any (array(
             select ctid from ${TABLE}
              where at < now() - make_interval(days => ?) limit ?))
           returning event_id`,
          [this.#config.keepDays, DELETED_AT_ONCE],
        ),
      );
      last = deleted.length;
      count += last;
    }
    return count;
  }

  async send(signal?: AbortSignal): Promise<void> {
    const { webhook } = this.#config;
    if (!webhook) {
      return;
    }
    const sendNew = async (tenantId?: string) => {
      let last = SENT_AT_ONCE;
      while (last === SENT_AT_ONCE && !signal?.aborted) {
        const { taken, refused } = await this.#sendSome(
          webhook,
          { tenantId },
          signal,
        );
        last = taken.length + refused.length;
      }
    };
    await sendNew();
    let refusal: WebhookRefusal | undefined;
    const unlessRefused = (work: () => Promise<void>) =>
      work().catch(error => {
        if (!(error instanceof WebhookRefusal)) {
          throw error;
        }
        refusal = error;
      });
    await unlessRefused(async () => {
      // A tenant with many that it refuses must not delay the others.
      for (const { tenant_id } of await this.#countRefused()) {
        await sendNew(tenant_id);
      }
    });
    await unlessRefused(async () => {
      const again = signal?.aborted
        ? { taken: [], refused: [] }
        : await this.#sendSome(webhook, 'refused', signal);
      if (again.taken.length > 0 && again.refused.length === 0) {
        await this.#asAdmin(knex =>
          knex(TABLE)
            .whereRaw(IS_REFUSED)
            .update('refused_at', null)
            .returning('event_id'),
        );
      }
    });
    if (refusal) {
      const left = await this.#countRefused();
      const count = left.reduce((sum, each) => sum + each.count, 0);
      throw new Error(
        `${refusal.message} to ${count} events. One is ${left[0]?.one}`,
      );
    }
  }

  /** Those that the webhook has refused alone, by tenant, the fewest first. */
  #countRefused() {
    return this.#asAdmin<{ tenant_id: string; count: number; one: string }>(
      knex =>
        knex(TABLE)
          .whereRaw(IS_REFUSED)
          .groupBy('tenant_id')
          .select(
            'tenant_id',
            knex.raw('count(*)::int'),
            knex.raw('(array_agg(event_id order by refused_at))[1] as one'),
          )
          .orderBy('count'),
    );
  }

  /**
   * Sends unsent events: new ones, the oldest first, or those that the webhook has refused alone, the
   * least recently tried first.
   *
   * @param some - new ones are those of one tenant, or of all tenants of which it refuses none
   * @throws {@link WebhookRefusal} if the webhook takes none
   */
  async #sendSome(
    webhook: AuditWebhookConfig,
    some: { tenantId?: string } | 'refused',
    signal?: AbortSignal,
  ): Promise<Pick<Sent, 'taken' | 'refused'>> {
    const rows = await this.#asAdmin<UnsentRow>(knex => {
      const builder = knex(`${TABLE} as a`)
        .join('tenants as t', 't.tenant_id', 'a.tenant_id')
        .select('a.tenant_id', 't.tenant_slug', ...READ_COLUMNS)
        .where('sent', false)
        // An operation without an outcome may still be running.
        .whereRaw(`(outcome is not null or at < now() - interval '1 minute')`);
      if (some === 'refused') {
        builder.whereRaw(IS_REFUSED).orderBy('refused_at').limit(TRIED_ALONE);
      } else {
        builder.whereNull('refused_at').orderBy('at').limit(SENT_AT_ONCE);
        if (some.tenantId) {
          builder.where('a.tenant_id', some.tenantId);
        } else {
          builder.whereRaw(
            `a.tenant_id not in (select tenant_id from ${TABLE} where ${IS_REFUSED})`,
          );
        }
      }
      return builder;
    });
    if (rows.length === 0) {
      return { taken: [], refused: [] };
    }
    const { refusal, ...sent } = await sendTo(webhook, rows, signal);
    await this.#asAdmin(knex =>
      knex.raw(
        `update ${TABLE} a
            set sent = s.is_taken, refused_at = case when not s.is_taken then now() end
           from jsonb_to_recordset(?::jsonb)
             as s (tenant_id uuid, event_id uuid, outcome text, is_taken boolean)
          where a.tenant_id = s.tenant_id and a.event_id = s.event_id
            and a.outcome is not distinct from s.outcome
         returning a.event_id`,
        [
          JSON.stringify(
            [...sent.taken, ...sent.refused].map(row => ({
              tenant_id: row.tenant_id,
              event_id: row.event_id,
              outcome: row.outcome,
              is_taken: sent.taken.includes(row),
            })),
          ),
        ],
      ),
    );
    if (refusal) {
      throw refusal;
    }
    return sent;
  }

  /** Writes all queued events. */
  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  async #write(events: QueuedEvent[]): Promise<void> {
    await this.#asAdmin(this.#insert(events));
  }

  /**
   * Stores events, if the condition holds. Drops those of unknown tenants.
   *
   * Tenants are looked up only if an event needs it: to plan it takes as long as the rest.
   */
  #insert(events: QueuedEvent[], condition = 'true'): BuildStatement {
    const slugs = events.flatMap(({ begun }) =>
      begun.tenantId === undefined ? begun.tenantSlug : [],
    );
    const [tenantId, join] =
      slugs.length === 0
        ? ['e.tenant_id', '']
        : [
            'coalesce(e.tenant_id, t.tenant_id)',
            // Or the planner expects 100 events, and reads all tenants.
            `left join tenants t
               on t.tenant_slug = e.tenant_slug and t.tenant_slug = any (?)`,
          ];
    return knex =>
      knex.raw(
        `insert into ${TABLE} as a
           (tenant_id, event_id, at, plugin, event, severity, actor, ip, user_agent, method, path,
            outcome, error, meta, sent)
         select ${tenantId}, e.event_id, e.at, e.plugin, e.event, e.severity, e.actor, e.ip,
                e.user_agent, e.method, e.path, e.outcome, e.error, e.meta, ?
           from jsonb_to_recordset(?::jsonb) as e
             (tenant_id uuid, tenant_slug text, event_id uuid, at timestamptz, plugin text,
              event text, severity text, actor text, ip text, user_agent text, method text,
              path text, outcome text, error text, meta jsonb)
           ${join}
          where ${tenantId} is not null and ${condition}
         on conflict (tenant_id, event_id) do update
           set outcome = excluded.outcome, error = excluded.error, meta = excluded.meta,
               sent = excluded.sent
         where excluded.outcome is not null
         returning event_id`,
        [
          this.#config.webhook ? false : null,
          JSON.stringify(events.map(toEntry)),
          ...(join ? [[...new Set(slugs)]] : []),
        ],
      );
  }

  /** Uses the pool directly: AdminDatabase would audit each write of the audit trail. */
  #asAdmin<TRow extends object>(build: BuildStatement): Promise<TRow[]> {
    return this.#pool.query<TRow>(build, { asAdmin: true });
  }
}

interface Sent {
  taken: UnsentRow[];
  /** Those that the webhook refuses alone. */
  refused: UnsentRow[];
  /** If it takes none. */
  refusal?: WebhookRefusal;
}

/**
 * Sends events to the webhook; one by one, the newest first, where it refuses them together: an
 * event that it always refuses must not keep later ones from it.
 *
 * @throws without an answer
 */
async function sendTo(
  webhook: AuditWebhookConfig,
  rows: UnsentRow[],
  signal?: AbortSignal,
): Promise<Sent> {
  const post = (some: UnsentRow[]) =>
    postToWebhook(
      webhook,
      some.map(({ tenant_id, tenant_slug, ...row }) => ({
        tenant_slug,
        ...toEvent(row),
      })),
      signal,
    );
  const refusal = await post(rows);
  if (!refusal) {
    return { taken: rows, refused: [] };
  }
  const taken: UnsentRow[] = [];
  const refused: UnsentRow[] = [];
  for (const row of rows.toReversed()) {
    if (refused.length === TRIED_ALONE && taken.length === 0) {
      break;
    }
    // A single one it has had.
    const isRefused = rows.length === 1 || (await post([row]));
    (isRefused ? refused : taken).push(row);
  }
  return { taken, refused, refusal: taken.length === 0 ? refusal : undefined };
}

function toEntry({ event_id, at, begun, ended }: QueuedEvent): Entry {
  return {
    event_id,
    tenant_id: begun.tenantId,
    tenant_slug: begun.tenantSlug,
    at,
    plugin: begun.plugin,
    event: redactText(begun.event),
    severity: begun.severity,
    actor: orNull(begun.actor),
    ip: orNull(begun.ip),
    user_agent: orNull(begun.userAgent),
    method: begun.method,
    path: orNull(begun.path),
    outcome: outcomeOf(ended),
    error: ended?.error ? describeError(ended.error) : null,
    meta: redactMeta({ ...begun.meta, ...ended?.meta }),
  };
}

/**
 * Null where the answer to a commit was lost: if the change was made, its row has the success, and
 * keeps it.
 */
function outcomeOf(ended: EndedAuditEvent | undefined): string | null {
  const error: (Error & { outcomeUnknown?: unknown }) | undefined =
    ended?.error;
  return error?.outcomeUnknown === true ? null : ended?.outcome ?? null;
}

function toEvent({ event_id, at, outcome, ...event }: Row): TenantAuditEvent {
  return {
    id: event_id,
    at: at.toISOString(),
    outcome: outcome ?? 'unknown',
    ...event,
  };
}

function orNull(text: string | null): string | null {
  return text === null ? null : redactText(text);
}
