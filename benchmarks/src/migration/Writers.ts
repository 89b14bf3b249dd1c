import { randomUUID } from 'node:crypto';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { APP_LOGIN, PASSWORD, SCHEMA } from '../harness/backend';
import { type Database, withClient } from '../harness/database';
import { recordMs } from '../harness/load';
import { OLD_LOGIN } from './catalog';
import { DEFAULT_TENANT_ID } from './internals';

const WRITERS = 4;
const ENTITIES_PER_WRITER = 2_000;

// Entities that a writer inserts before it deletes the oldest of them.
const OWN_ENTITIES = 100;

/** How many failures are kept with their messages. */
const MESSAGES = 10;

/** The version of the application that writes: the old one knows no tenants. */
export type Application = 'old' | 'new';

/** How long writes waited while something went on. */
export interface Stage {
  name: string;
  waits: RecordableHistogram;
  failed: number;
}

/** The tables as one version of the application writes them. */
class TenantTables {
  constructor(
    private readonly client: Client,
    private readonly application: Application,
  ) {}

  async begin(): Promise<void> {
    await this.client.query('begin');
    if (this.application === 'new') {
      await this.client.query(`select set_config('app.tenant_id', $1, true)`, [
        DEFAULT_TENANT_ID,
      ]);
    }
  }

  async insert(table: string, row: Record<string, string>): Promise<void> {
    const tenant: Record<string, string> =
      this.application === 'new' ? { tenant_id: DEFAULT_TENANT_ID } : {};
    const all = { ...tenant, ...row };
    const names = Object.keys(all);
    const places = names.map((_, index) => `$${index + 1}`);
    await this.client.query(
      `insert into ${table} (${names.join(', ')}) values (${places.join(
        ', ',
      )})`,
      Object.values(all),
    );
  }

  /** An UPDATE or DELETE of the rows of one entity, whose id follows the values. */
  async change(
    statement: string,
    column: string,
    id: string,
    expected?: number,
  ): Promise<void> {
    const scope =
      this.application === 'new'
        ? `and tenant_id = '${DEFAULT_TENANT_ID}'`
        : '';
    const { rowCount } = await this.client.query(
      `${statement} where ${column} = $1 ${scope}`,
      [id],
    );
    if (expected !== undefined && rowCount !== expected) {
      throw new Error(`${statement}: ${rowCount} rows instead of ${expected}`);
    }
  }
}

/**
 * Four connections that write one small transaction after the other, each to entities of its
 * own: they wait for the migration alone. A wait is the time up to the COMMIT, since no lock of
 * somebody else is in the way of that.
 */
export class Writers {
  readonly failures: string[] = [];
  readonly stages: Stage[] = [];
  #current = createStage('nothing');
  #application: Application = 'old';
  #isOver = false;
  /** The writes that end from some moment on, while somebody asks for them. */
  #kept?: Array<{ to: number; wait: number }>;
  readonly #work: Promise<unknown>;

  static async start(database: Database, stage: string): Promise<Writers> {
    const count = WRITERS * ENTITIES_PER_WRITER;
    const ids = await withClient(database, async client => {
      const { rows } = await client.query<{ id: string }>(
        `select entity_id as id from ${SCHEMA}.entities order by random() limit $1`,
        [count],
      );
      return rows.map(({ id }) => id);
    });
    return new Writers(database, ids, stage);
  }

  private constructor(
    private readonly database: Database,
    ids: string[],
    stage: string,
  ) {
    this.begin(stage);
    const shares = Array.from({ length: WRITERS }, (_, writer) =>
      ids.filter((_id, index) => index % WRITERS === writer),
    );
    this.#work = Promise.all(shares.map(share => this.#run(share)));
  }

  /** Something else goes on from now on. A name that is there already goes on. */
  begin(name: string): void {
    const known = this.stages.find(stage => stage.name === name);
    this.#current = known ?? createStage(name);
    if (!known) {
      this.stages.push(this.#current);
    }
  }

  /** Has every writer connect as another version, after the transaction that it is in. */
  deploy(application: Application): void {
    this.#application = application;
  }

  /** Keeps the waits from now on, until the longest is asked for. */
  keepWaits(): void {
    this.#kept = [];
  }

  /** The longest wait of the writes that ended from a moment on, in milliseconds. */
  longestWaitFrom(from: number): number {
    const waits = (this.#kept ?? []).filter(({ to }) => to >= from);
    this.#kept = undefined;
    return Math.max(0, ...waits.map(({ wait }) => wait));
  }

  get failed(): number {
    return this.stages.reduce((sum, { failed }) => sum + failed, 0);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #run(ids: string[]): Promise<void> {
    const own: string[] = [];
    for (let number = 0; !this.#isOver; ) {
      const application = this.#application;
      const client = new Client({
        ...this.database.postgres.connection,
        user: application === 'old' ? OLD_LOGIN : APP_LOGIN,
        password: PASSWORD,
        database: this.database.name,
        options: `-c search_path=${SCHEMA}`,
      });
      await client.connect();
      while (!this.#isOver && application === this.#application) {
        const tables = new TenantTables(client, application);
        await this.#write(client, tables, number, ids, own);
        number += 1;
        await pause(1);
      }
      await client.end();
    }
  }

  async #write(
    client: Client,
    tables: TenantTables,
    number: number,
    ids: string[],
    own: string[],
  ): Promise<void> {
    const began = this.#current;
    const from = performance.now();
    let wait: number | undefined;
    try {
      await tables.begin();
      await change(tables, number, ids, own);
      wait = performance.now() - from;
      await client.query('commit');
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      began.failed += 1;
      if (this.failures.length < MESSAGES) {
        this.failures.push(`A write during ${began.name} failed: ${error}`);
      }
    }
    wait ??= performance.now() - from;
    // One that a phase held up counts for that phase although it ends after it.
    for (const stage of new Set([began, this.#current])) {
      recordMs(stage.waits, wait);
    }
    this.#kept?.push({ to: performance.now(), wait });
  }
}

function createStage(name: string): Stage {
  return { name, waits: createHistogram(), failed: 0 };
}

/** The five kinds of changes in turn. */
async function change(
  tables: TenantTables,
  number: number,
  ids: string[],
  own: string[],
): Promise<void> {
  const id = ids[(number * 7_919) % ids.length];
  switch (number % 5) {
    case 0:
      await tables.change(
        `update entities set hash = md5('${number}'), updated_at = now(), final_entity =
           jsonb_set(final_entity, '{metadata,etag}', to_jsonb(md5('${number}')))`,
        'entity_id',
        id,
        1,
      );
      break;
    case 1:
      await tables.change(
        `update refresh_state set next_update_at = now() + interval '2 minutes'`,
        'entity_id',
        id,
        1,
      );
      break;
    case 2:
      await insertEntity(tables, own);
      break;
    case 3:
      await tables.change('delete from relations', 'originating_entity_id', id);
      for (const type of ['ownedBy', 'partOf', 'dependsOn']) {
        await tables.insert('relations', relation(id, type));
      }
      break;
    default:
      if (own.length > OWN_ENTITIES) {
        await tables.change('delete from entities', 'entity_id', own[0], 1);
        own.shift();
      }
  }
}

async function insertEntity(
  tables: TenantTables,
  own: string[],
): Promise<void> {
  const id = randomUUID();
  const ref = `component:default/${id}`;
  await tables.insert('entities', {
    entity_id: id,
    entity_ref: ref,
    entity_kind: 'component',
    entity_namespace: 'default',
    entity_name: id,
    final_entity: JSON.stringify({
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Component',
      metadata: { name: id, description: `Written for ${ref}. `.repeat(20) },
      spec: { type: 'service', owner: 'group:default/writers' },
    }),
    hash: id,
  });
  await tables.insert('relations', relation(id, 'ownedBy'));
  await tables.insert('refresh_state', { entity_id: id });
  own.push(id);
}

function relation(id: string, type: string): Record<string, string> {
  return {
    originating_entity_id: id,
    source_entity_ref: `component:default/${id}`,
    type,
    target_entity_ref: 'group:default/writers',
  };
}
