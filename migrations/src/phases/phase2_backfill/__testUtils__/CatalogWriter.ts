import { Client, DatabaseError } from 'pg';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';

// What an application that uses REPEATABLE READ has to repeat.
const SERIALIZATION_FAILURE = '40001';

const LEVELS = ['read committed', 'repeatable read'];

/**
 * An application that knows nothing of tenants: it changes, inserts and deletes
 * entities without a pause, several in each transaction and in no order, and keeps
 * a record of what it has committed.
 */
export class CatalogWriter {
  /** Starts one of `count` writers, each of which has entities of its own. */
  static async start(
    { connection }: CatalogDatabase,
    number: number,
    count: number,
  ): Promise<CatalogWriter> {
    const client = new Client(connection);
    await client.connect();
    await client.query('set search_path = tenancy');
    const { rows } = await client.query(
      `select entity_ref, hash from entities
        where entity_name like 'service-%'
          and abs(hashtext(entity_name)) % $1 = $2 order by entity_ref`,
      [count, number],
    );
    return new CatalogWriter(
      client,
      number,
      new Map(rows.map(row => [row.entity_ref, row.hash])),
    );
  }

  private stopped = false;
  private turn = 0;
  private readonly first: Promise<void>;
  private readonly loop: Promise<void>;

  private constructor(
    private readonly client: Client,
    private readonly number: number,
    private record: Map<string, string>,
  ) {
    this.first = this.write();
    this.loop = this.first.then(() => this.writeOn());
    // It is awaited by stop().
    this.loop.catch(() => undefined);
  }

  /** Resolves as soon as the first transaction is committed. */
  hasWritten(): Promise<void> {
    return this.first;
  }

  /** The entities that the writer has left, with their hashes. */
  async stop(): Promise<Map<string, string>> {
    this.stopped = true;
    try {
      await this.loop;
      return this.record;
    } finally {
      await this.client.end();
    }
  }

  private async writeOn(): Promise<void> {
    while (!this.stopped) {
      await this.write();
    }
  }

  private async write(): Promise<void> {
    this.turn += 1;
    const record = new Map(this.record);
    try {
      await this.client.query(
        `begin isolation level ${LEVELS[this.turn % LEVELS.length]}`,
      );
      await this.change(record);
      await this.client.query('commit');
      this.record = record;
    } catch (error) {
      await this.client.query('rollback');
      if (
        !(error instanceof DatabaseError) ||
        error.code !== SERIALIZATION_FAILURE
      ) {
        throw error;
      }
    }
  }

  private async change(record: Map<string, string>): Promise<void> {
    const refs = [...record.keys()];
    const pick = (step: number) => refs[(this.turn * step) % refs.length];
    for (const step of [7919, 104729, 17, 1299709]) {
      const hash = `${this.number}/${this.turn}/${step}`;
      await this.client.query(
        'update entities set hash = $2, updated_at = now() where entity_ref = $1',
        [pick(step), hash],
      );
      record.set(pick(step), hash);
    }
    await this.client.query('delete from entities where entity_ref = $1', [
      pick(31),
    ]);
    record.delete(pick(31));
    const name = `new-${this.number}-${this.turn}`;
    await this.client.query(
      `with e as (
         insert into entities (entity_ref, entity_kind, entity_name, final_entity, hash)
         values ('component:default/' || $1, 'component', $1, '{}', 'new')
         returning entity_id, entity_ref
       ) insert into relations (originating_entity_id, source_entity_ref, type, target_entity_ref)
         select entity_id, entity_ref, 'ownedBy', 'group:default/new' from e`,
      [name],
    );
    record.set(`component:default/${name}`, 'new');
  }
}
