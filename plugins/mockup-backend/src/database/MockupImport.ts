import { CustomErrorBase, InputError } from '@backstage/errors';
import { idOfAttempts } from '@internal/http';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { ImportedPart } from 'backstage-plugin-mockup-node';
import type { PoolTransaction } from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { type MockupRow, toMockup } from './columns';
import * as statements from './statements';

/** The most rows, and the most characters, of one INSERT. */
const MOST_ROWS = 1000;
const MOST_CHARACTERS = 1024 * 1024;

/** Imports at once in one process: each holds a connection, and its file in memory. */
const MOST_AT_ONCE = 4;

/** The tenant has an import that runs or waits. */
class ImportUnderWayError extends CustomErrorBase {
  name = 'ImportUnderWayError' as const;

  constructor() {
    super('Another import is under way: send this one again when it has ended');
  }

  // Getters, because Backstage puts other properties into the body of the response.

  /** The HTTP status. */
  get statusCode(): number {
    return 429;
  }

  get retryAfterSeconds(): number {
    return 1;
  }
}

/** The imports of this process: one of each tenant, the tenants in turn. */
export class ImportsUnderWay {
  readonly #tenantIds = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  #free = MOST_AT_ONCE;

  /**
   * Imports when it is the tenant's turn. A file that waits is not read yet.
   *
   * @throws ImportUnderWayError if the tenant has another one
   */
  async run<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    if (this.#tenantIds.has(tenantId)) {
      throw new ImportUnderWayError();
    }
    this.#tenantIds.add(tenantId);
    if (this.#free > 0) {
      this.#free--;
    } else {
      await new Promise<void>(resolve => this.#waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      this.#tenantIds.delete(tenantId);
      const next = this.#waiting.shift();
      if (next) {
        next();
      } else {
        this.#free++;
      }
    }
  }
}

interface VersionRow {
  id: string;
  tag?: string;
  message?: string;
  layout: unknown;
  created_by: string;
  created_at: string;
  restored_from?: string;
}

/** An import in a transaction; inserts the versions of a mockup in few statements. */
export class MockupImport {
  readonly #transaction: PoolTransaction;
  readonly #options: {
    tenantId: string;
    owner: string;
    idempotencyKey?: string;
  };
  readonly #imported: Mockup[] = [];
  /** Whether an earlier attempt has imported the current mockup, with its versions. */
  #isThere = false;
  /** The ids of the versions of the current mockup. */
  #versionIds: string[] = [];
  #rows: string[] = [];
  #characters = 0;

  constructor(
    transaction: PoolTransaction,
    options: { tenantId: string; owner: string; idempotencyKey?: string },
  ) {
    this.#transaction = transaction;
    this.#options = options;
  }

  /** @throws ImportUnderWayError if another process imports for the tenant */
  async run(
    first: IteratorResult<ImportedPart>,
    rest: AsyncIterator<ImportedPart>,
  ): Promise<Mockup[]> {
    // An advisory lock for imports of the tenant until the end of the transaction. Other
    // statements do not take it, and `try` never waits.
    const [{ taken }] = await this.#query<{ taken: boolean }>(
      "select pg_try_advisory_xact_lock(hashtextextended('mockup import ' || :tenantId, 0)) as taken",
      {},
    );
    if (!taken) {
      throw new ImportUnderWayError();
    }
    for (let next = first; !next.done; next = await rest.next()) {
      if ('mockup' in next.value) {
        await this.#finish();
        await this.#addMockup(next.value);
      } else {
        await this.#addVersion(next.value.version);
      }
    }
    await this.#finish();
    return this.#imported;
  }

  async #addMockup({
    mockup,
    digest,
  }: Extract<ImportedPart, { mockup: unknown }>): Promise<void> {
    const { name, description, createdAt, updatedAt } = mockup;
    const { tenantId, owner, idempotencyKey } = this.#options;
    const place = this.#imported.length;
    const about = [tenantId, owner, 'import', place];
    const [row] = await this.#query<MockupRow & { is_new: boolean }>(
      statements.IMPORT_MOCKUP,
      {
        newId: idOfAttempts(idempotencyKey, [
          ...about,
          ...[name, description, createdAt, updatedAt, digest],
        ]),
        name,
        description: description ?? null,
        owner,
        createdAt,
        updatedAt,
      },
    );
    this.#imported.push(toMockup(row));
    this.#isThere = !row.is_new;
    this.#versionIds = [];
  }

  async #addVersion(
    version: Extract<ImportedPart, { version: unknown }>['version'],
  ): Promise<void> {
    if (this.#imported.length === 0) {
      throw new InputError('A version comes before the first mockup');
    }
    if (this.#isThere) {
      return;
    }
    const { layoutData, versionTag, message, restoredFrom } = version;
    const { createdBy, createdAt } = version;
    const id = randomUUID();
    const row = JSON.stringify({
      id,
      tag: versionTag,
      message,
      layout: layoutData,
      created_by: createdBy,
      created_at: createdAt,
      restored_from:
        restoredFrom === undefined ? undefined : this.#versionIds[restoredFrom],
    } satisfies VersionRow);
    if (this.#characters + row.length > MOST_CHARACTERS) {
      await this.#flush();
    }
    this.#rows.push(row);
    this.#characters += row.length;
    this.#versionIds.push(id);
    if (this.#rows.length === MOST_ROWS) {
      await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    const versions = `[${this.#rows.join()}]`;
    this.#rows = [];
    this.#characters = 0;
    await this.#query(statements.IMPORT_VERSIONS, {
      mockupId: this.#imported.at(-1)!.id,
      versions,
    });
  }

  /** Completes the current mockup, if any. */
  async #finish(): Promise<void> {
    if (this.#rows.length > 0) {
      await this.#flush();
    }
    if (this.#versionIds.length > 0) {
      const [row] = await this.#query<MockupRow>(statements.FINISH_IMPORT, {
        mockupId: this.#imported.at(-1)!.id,
      });
      this.#imported[this.#imported.length - 1] = toMockup(row);
    }
  }

  #query<TRow extends object>(
    sql: string,
    bindings: Knex.ValueDict,
  ): Promise<TRow[]> {
    const { knex } = this.#transaction;
    return this.#transaction.query(
      knex.raw(sql, { ...bindings, tenantId: this.#options.tenantId }),
    );
  }
}
