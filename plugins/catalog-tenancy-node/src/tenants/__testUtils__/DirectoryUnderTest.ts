import { withDeadline } from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import { EventEmitter, once } from 'node:events';
import { mockLogger } from '../../__testUtils__/serviceMocks';
import type { BuildStatement, TenancyPool } from '../../pool/TenancyPool';
import { RegistrySnapshot, type RegistryTiming } from '../RegistrySnapshot';

/**
 * A directory on a pool, of which a test sees when it begins and ceases to hear, and
 * how often it asks the database. Answers age in an hour, so that only a
 * notification, or the lack of them, can make it forget.
 */
export class DirectoryUnderTest {
  readonly directory: RegistrySnapshot;
  readonly #events = new EventEmitter();
  /** Resolves when look-ups may get their answer; they have asked before. */
  hold: Promise<void> = Promise.resolve();
  /** How often it asked the database for a tenant. */
  questions = 0;

  constructor(
    pool: TenancyPool,
    options: {
      connection?: ClientConfig;
      schema?: string;
      timing?: Partial<RegistryTiming>;
    } = {},
  ) {
    const logger = mockLogger({
      debug: () => this.#events.emit('hears'),
      warn: () => this.#events.emit('deaf'),
    });
    const schema = options.schema ?? pool.schema;
    this.directory = new RegistrySnapshot({
      pool: {
        connection: options.connection ?? pool.connection,
        schema,
        query: async <TRow extends object>(build: BuildStatement) => {
          const rows = await pool.query<TRow>(build);
          if (!isNotification(rows)) {
            this.questions += 1;
            this.#events.emit('asked');
            await this.hold;
          }
          return rows;
        },
      },
      logger,
      timing: {
        ttlMs: 3_600_000,
        reconnectMs: { shortest: 10, longest: 50 },
        ...options.timing,
      },
    });
  }

  /** Resolves when it next begins to hear. */
  hears(): Promise<void> {
    return this.#next('hears');
  }

  /** Resolves when it next ceases to hear, or finds that it does not. */
  deaf(): Promise<void> {
    return this.#next('deaf');
  }

  /** Resolves when the database has next answered a question. */
  asked(): Promise<void> {
    return this.#next('asked');
  }

  #next(event: 'hears' | 'deaf' | 'asked'): Promise<void> {
    const next = withDeadline(
      `the event "${event}" of the directory`,
      once(this.#events, event).then(() => undefined),
    );
    // A test that fails before it awaits this has its own error.
    next.catch(() => undefined);
    return next;
  }

  /** Looks up a tenant, which begins to listen, until it hears. */
  async begin(slug = 'default'): Promise<void> {
    const hears = this.hears();
    await this.directory.findActive(slug);
    await hears;
  }

  /** Whether a tenant is found without asking the database. */
  async remembers(slug: string): Promise<boolean> {
    const before = this.questions;
    const found = await this.directory.findActive(slug);
    return found !== undefined && this.questions === before;
  }
}

function isNotification(rows: object[]): boolean {
  return rows.some(row => 'pg_notify' in row);
}
