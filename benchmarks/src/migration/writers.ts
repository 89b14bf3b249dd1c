import { randomUUID } from 'node:crypto';
import { type Database, withClient } from '../harness/database';
import {
  type Application,
  APP_ROLE,
  DEFAULT_TENANT_ID,
  LiveTraffic,
  type Row,
  type Scenario,
  TRAFFIC_TABLES,
  type Transaction,
} from '../harness/engine';
import { PASSWORD, SCHEMA } from '../harness/servers';
import { OLD_LOGIN } from './catalog';
import type { WriteLog } from './WriteLog';

const WRITERS = 4;
const ENTITIES_PER_WRITER = 2_000;

// Entities that a writer inserts before it deletes the oldest of them.
const OWN_ENTITIES = 100;

/** The application of before phase 3, which knows no tenants. */
export function oldApplication(database: Database): Application {
  return { name: 'old', login: loginOf(database, OLD_LOGIN) };
}

/** The application that phase 3 stands for. */
export function newApplication(database: Database): Application {
  return {
    name: 'new',
    login: loginOf(database, APP_ROLE),
    tenantId: DEFAULT_TENANT_ID,
  };
}

const SCENARIOS: Scenario[] = [
  { name: 'update an entity', weight: 1, run: updateEntity },
  {
    name: 'refresh an entity',
    weight: 1,
    run: tx =>
      change(
        tx,
        `update refresh_state set next_update_at = now() + interval '2 minutes'`,
        anyId(tx),
      ),
  },
  {
    name: 'insert an entity',
    weight: 1,
    async run(tx) {
      const row = entity(randomUUID());
      await tx.insert('entities', [row]);
      await tx.insert('relations', [
        relation(row.entity_id, row.entity_ref, 'ownedBy'),
      ]);
      await tx.insert('refresh_state', [{ entity_id: row.entity_id }]);
      tx.expected.put({ row: { ...row, own: 'yes' }, relations: [] });
    },
  },
  {
    name: 'replace relations',
    weight: 1,
    async run(tx) {
      const id = anyId(tx);
      await tx.query('delete relations', {
        text: 'delete from relations where originating_entity_id = $1 {scope}',
        values: [id],
      });
      await tx.insert(
        'relations',
        ['ownedBy', 'partOf', 'dependsOn'].map(type => relation(id, id, type)),
      );
    },
  },
  {
    name: 'delete an entity',
    weight: 1,
    async run(tx) {
      const own = tx.expected.all().filter(({ row }) => row.own);
      if (own.length <= OWN_ENTITIES) {
        await updateEntity(tx);
        return;
      }
      await change(tx, 'delete from entities', own[0].row.entity_id!);
      tx.expected.remove(own[0]);
    },
  },
];

/**
 * Lets four connections write, one small transaction after the other. Each writes to
 * entities of its own: all that it waits for is the migration.
 */
export async function startWriters(
  database: Database,
  log: WriteLog,
): Promise<LiveTraffic> {
  return withClient(database, async client => {
    await client.query(TRAFFIC_TABLES);
    // Some entities from everywhere in the table; one share of five is left alone.
    const wanted = (WRITERS + 1) * ENTITIES_PER_WRITER;
    const { rows } = await client.query<{ entity_id: string }>(
      `select entity_id from ${SCHEMA}.entities
        where random() < ${2 * wanted}.0
                / (select count(*) from ${SCHEMA}.entities)
        order by random() limit ${wanted}`,
    );
    const entities = new Map(
      rows.map(row => [row.entity_id, { row: { ...row }, relations: [] }]),
    );
    return LiveTraffic.startWith(
      {
        shares: [{ application: oldApplication(database), entities }],
        sizes: {
          writers: WRITERS,
          seeded: rows.length,
          entitiesPerWriter: ENTITIES_PER_WRITER,
          bigTransaction: 0,
          longestHoldMs: 0,
          transactionsBetween: 1,
          pauseMs: 1,
          seed: Date.now() % 1_000_000,
        },
        history: { INSERT: 0, UPDATE: 0, DELETE: 0 },
      },
      {
        scenarios: SCENARIOS,
        isolations: ['read committed'],
        onWrite: () => {
          const began = log.current;
          return (times, error) => log.add(began, times, error);
        },
      },
    );
  });
}

async function updateEntity(tx: Transaction): Promise<void> {
  await change(
    tx,
    `update entities set hash = $2, updated_at = now(), final_entity =
       jsonb_set(final_entity, '{metadata,etag}', to_jsonb($2::text))`,
    anyId(tx),
    [randomUUID()],
  );
}

/** Changes the one row of an entity. */
async function change(
  tx: Transaction,
  statement: string,
  id: string,
  values: string[] = [],
): Promise<void> {
  await tx.query(
    statement,
    {
      text: `${statement} where entity_id = $1 {scope}`,
      values: [id, ...values],
    },
    1,
  );
}

function anyId(tx: Transaction): string {
  return tx.random.pick(tx.expected.all()).row.entity_id!;
}

function entity(id: string) {
  const ref = `component:default/${id}`;
  const finalEntity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name: id, description: `Written for ${ref}. `.repeat(20) },
    spec: { type: 'service', owner: 'group:default/writers' },
  };
  return {
    entity_id: id,
    entity_ref: ref,
    entity_kind: 'component',
    entity_namespace: 'default',
    entity_name: id,
    final_entity: JSON.stringify(finalEntity),
    hash: id,
  };
}

function relation(id: string, sourceRef: string, type: string): Row {
  return {
    originating_entity_id: id,
    source_entity_ref: sourceRef,
    type,
    target_entity_ref: 'group:default/writers',
  };
}

function loginOf(
  { postgres, name }: Database,
  user: string,
): Application['login'] {
  return {
    ...postgres.connection,
    user,
    password: PASSWORD,
    database: name,
    options: `-c search_path=${SCHEMA}`,
  };
}
