import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import { randomUUID } from 'node:crypto';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { APP_LOGIN, PASSWORD, SCHEMA } from '../harness/backend';
import { type Database, withClient } from '../harness/database';
import { recordMs } from '../harness/load';
import { OLD_LOGIN } from './catalog';

const WRITERS = 4;
const ENTITIES_PER_WRITER = 2_000;

// Entities that a writer inserts before it deletes the oldest of them.
const OWN_ENTITIES = 100;

/** How many failures are kept with their messages. */
const MESSAGES = 10;

/** Has PostgreSQL report to a login how long it waited for a lock, if that is at least this long. */
export const REPORTED_FROM_MS = 20;
export const REPORT_LOCK_WAITS = [
  'log_lock_waits = on',
  'client_min_messages = log',
  // A shorter one would abort a writer before the migration gives up its locks in a deadlock.
  `deadlock_timeout = ${REPORTED_FROM_MS}`,
];
const LOCK_WAIT = /acquired \w+ on relation .* after ([\d.]+) ms/;

/** The version of the application that writes: the old one knows no tenants. */
export type Application = 'old' | 'new';

/** How long writes waited while something went on. */
export interface Stage {
  name: string;
  waits: RecordableHistogram;
  failed: number;
}

/** A statement, with `{scope}`, `{column}` and `{value}` where the new one names the tenant. */
type Statement = [text: string, values: string[]];

/** What each version of the application begins a transaction with. */
const BEGIN: Record<Application, Statement[]> = {
  old: [],
  new: [[`select set_config('app.tenant_id', $1, true)`, [DEFAULT_TENANT_ID]]],
};

/**
 * Four connections that write one small transaction after the other, each to entities of its
 * own: they wait for the locks of the migration alone. A wait is the time up to the COMMIT, which
 * waits for no lock.
 */
export class Writers {
  readonly failures: string[] = [];
  readonly stages: Stage[] = [];
  #current = createStage('nothing');
  #application: Application = 'old';
  #isOver = false;
  #longestLockWait = 0;
  readonly #work: Promise<unknown>;

  static async start(database: Database, stage: string): Promise<Writers> {
    const ids = await withClient(database, async client => {
      const { rows } = await client.query<{ id: string }>(
        `select entity_id as id from ${SCHEMA}.entities order by random() limit $1`,
        [WRITERS * ENTITIES_PER_WRITER],
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

  /** Begins a stage, or continues the one with this name. */
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

  forgetLockWaits(): void {
    this.#longestLockWait = 0;
  }

  /**
   * How long PostgreSQL had a write wait for locks of tables, in milliseconds, since {@link
   * Writers.forgetLockWaits}; zero if less than {@link REPORTED_FROM_MS} for each.
   */
  get longestLockWait(): number {
    return this.#longestLockWait;
  }

  get failed(): number {
    return this.stages.reduce((sum, { failed }) => sum + failed, 0);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #run(ids: string[]): Promise<void> {
    const changes = changesOf(ids);
    while (!this.#isOver) {
      const application = this.#application;
      const client = new Client({
        ...this.database.postgres.connection,
        user: application === 'old' ? OLD_LOGIN : APP_LOGIN,
        password: PASSWORD,
        database: this.database.name,
        options: `-c search_path=${SCHEMA}`,
      });
      let lockWait = 0;
      client.on('notice', ({ message = '' }) => {
        lockWait += Number(LOCK_WAIT.exec(message)?.[1] ?? 0);
        this.#longestLockWait = Math.max(this.#longestLockWait, lockWait);
      });
      await client.connect();
      while (!this.#isOver && application === this.#application) {
        lockWait = 0;
        await this.#write(client, changes.next().value, application);
        await pause(1);
      }
      await client.end();
    }
  }

  async #write(
    client: Client,
    statements: Statement[],
    application: Application,
  ): Promise<void> {
    const began = this.#current;
    const from = performance.now();
    let wait: number | undefined;
    try {
      await client.query('begin');
      for (const statement of [...BEGIN[application], ...statements]) {
        await send(client, statement, application);
      }
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
  }
}

function createStage(name: string): Stage {
  return { name, waits: createHistogram(), failed: 0 };
}

/** @throws Error if a change of the one row of an entity changes none */
async function send(
  client: Client,
  [text, values]: Statement,
  application: Application,
): Promise<void> {
  const id = `'${DEFAULT_TENANT_ID}'`;
  const isNew = application === 'new';
  const { rowCount } = await client.query(
    text
      .replace('{scope}', isNew ? `and tenant_id = ${id}` : '')
      .replace('{column}', isNew ? 'tenant_id, ' : '')
      .replace('{value}', isNew ? `${id}, ` : ''),
    values,
  );
  if (rowCount === 0 && !text.startsWith('delete from relations')) {
    throw new Error(`${text} has changed nothing`);
  }
}

/** The transactions of one writer, five kinds in turn. */
function* changesOf(ids: string[]): Generator<Statement[], never> {
  const own: string[] = [];
  for (let number = 0; ; number += 1) {
    const id = ids[number % ids.length];
    yield [
      [
        `update entities set hash = $2, updated_at = now(), final_entity =
           jsonb_set(final_entity, '{metadata,etag}', to_jsonb($2::text))
          where entity_id = $1 {scope}`,
        [id, randomUUID()],
      ],
    ];
    yield [
      [
        `update refresh_state set next_update_at = now() + interval '2 minutes'
          where entity_id = $1 {scope}`,
        [id],
      ],
    ];
    own.push(randomUUID());
    yield insertEntity(own[own.length - 1]);
    yield [
      ['delete from relations where originating_entity_id = $1 {scope}', [id]],
      ...['ownedBy', 'partOf', 'dependsOn'].map(type => relation(id, type)),
    ];
    if (own.length > OWN_ENTITIES) {
      const oldest = [own.shift()!];
      yield [['delete from entities where entity_id = $1 {scope}', oldest]];
    }
  }
}

function insertEntity(id: string): Statement[] {
  const ref = `component:default/${id}`;
  const entity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name: id, description: `Written for ${ref}. `.repeat(20) },
    spec: { type: 'service', owner: 'group:default/writers' },
  };
  return [
    [
      `insert into entities ({column}entity_id, entity_ref, entity_kind, entity_namespace,
                             entity_name, final_entity, hash)
       values ({value}$1, $2, 'component', 'default', $3, $4, $3)`,
      [id, ref, id, JSON.stringify(entity)],
    ],
    relation(id, 'ownedBy'),
    ['insert into refresh_state ({column}entity_id) values ({value}$1)', [id]],
  ];
}

function relation(id: string, type: string): Statement {
  return [
    `insert into relations
       ({column}originating_entity_id, source_entity_ref, type, target_entity_ref)
     values ({value}$1, $2, $3, 'group:default/writers')`,
    [id, `component:default/${id}`, type],
  ];
}
