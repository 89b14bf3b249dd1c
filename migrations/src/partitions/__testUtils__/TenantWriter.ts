import { withDeadline } from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { once, EventEmitter } from 'node:events';
import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';

interface WriterOptions {
  tenant: string;
  isolation: 'read committed' | 'repeatable read';
  /** Its entities begin with it: no other writer touches them. */
  name: string;
}

/** By reference: the hash of the entity, its relations, its location key. */
type Rows = Record<string, { hash: string; relations: number; key: string }>;

const MOST = 20;

/**
 * Inserts, updates and deletes as the application does, and remembers what it has
 * committed. Each statement has to touch as many rows as the record says.
 */
export class TenantWriter {
  static async connect(
    login: ClientConfig,
    options: WriterOptions,
  ): Promise<TenantWriter> {
    const client = new Client(login);
    await client.connect();
    await client.query('set search_path = tenancy');
    return new TenantWriter(client, options);
  }

  private rows: Rows = {};
  private readonly ids = new Map<string, string>();
  private readonly events = new EventEmitter();
  private stopped = false;
  private count = 0;

  private constructor(
    private readonly client: Client,
    private readonly options: WriterOptions,
  ) {}

  stop(): void {
    this.stopped = true;
  }

  /** Resolves when so many more transactions are committed. */
  async committed(transactions: number): Promise<void> {
    for (let left = transactions; left > 0; left -= 1) {
      await withDeadline('a writer to commit', once(this.events, 'committed'));
    }
  }

  async run(): Promise<void> {
    while (!this.stopped) {
      this.count += 1;
      const next = await this.attempt().catch(error => {
        const serialization =
          error instanceof DatabaseError && error.code === '40001';
        if (serialization && this.options.isolation === 'repeatable read') {
          return undefined;
        }
        this.events.emit('error', error);
        throw error;
      });
      if (next) {
        this.rows = next;
        this.events.emit('committed');
      } else {
        await this.client.query('rollback');
      }
    }
    await this.client.end();
  }

  /** What must be there. */
  expected(): Rows {
    return this.rows;
  }

  /** What is there. */
  async found(client: Client): Promise<Rows> {
    const { rows } = await client.query(
      `select entity_ref as ref, hash,
              (select count(*)::int from relations r
                where r.tenant_id = e.tenant_id
                  and r.originating_entity_id = e.entity_id) as relations,
              (select location_key from refresh_state s
                where s.tenant_id = e.tenant_id and s.entity_id = e.entity_id) as key
         from entities e where tenant_id = $1 and entity_name like $2`,
      [this.options.tenant, `${this.options.name}-%`],
    );
    return Object.fromEntries(
      rows.map(({ ref, hash, relations, key }) => [
        ref,
        { hash, relations, key },
      ]),
    );
  }

  private async attempt(): Promise<Rows> {
    const { tenant, isolation } = this.options;
    await this.client.query(`begin isolation level ${isolation}`);
    await this.client.query(`select set_config('app.tenant_id', $1, true)`, [
      tenant,
    ]);
    const next = { ...this.rows };
    const refs = Object.keys(next);
    const ref = refs[this.count % (refs.length || 1)];
    if (refs.length < MOST) {
      await this.insert(next);
    }
    if (ref && this.count % 5 === 0) {
      await this.one('delete from entities', ref, []);
      delete next[ref];
    } else if (ref) {
      const text = `text-${this.count}`;
      await this.one('update entities set hash = $3', ref, [text]);
      await this.one('update refresh_state set location_key = $3', ref, [
        `${this.options.name} ${text}`,
      ]);
      await this.relate(ref);
      next[ref] = {
        hash: text,
        relations: next[ref].relations + 1,
        key: `${this.options.name} ${text}`,
      };
    }
    await this.client.query('commit');
    return next;
  }

  private async insert(next: Rows): Promise<void> {
    const { tenant, name } = this.options;
    const id = randomUUID();
    const entity = `${name}-${this.count}`;
    const ref = `component:default/${entity}`;
    await this.client.query(
      `insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ($1, $2, $3, 'component', $4, '{}', 'new')`,
      [tenant, id, ref, entity],
    );
    await this.client.query(
      'insert into refresh_state (tenant_id, entity_id, location_key) values ($1, $2, $3)',
      [tenant, id, entity],
    );
    this.ids.set(ref, id);
    next[ref] = { hash: 'new', relations: 0, key: entity };
  }

  private async relate(ref: string): Promise<void> {
    await this.client.query(
      `insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       values ($1, $2, $3, 'ownedBy', 'group:default/writers')`,
      [this.options.tenant, this.ids.get(ref), ref],
    );
  }

  private async one(
    statement: string,
    ref: string,
    values: string[],
  ): Promise<void> {
    const { rowCount } = await this.client.query({
      name: statement,
      text: `${statement} where tenant_id = $1 and entity_id = $2`,
      values: [this.options.tenant, this.ids.get(ref), ...values],
    });
    if (rowCount !== 1) {
      throw new Error(`${statement} of ${ref}: ${rowCount} rows instead of 1`);
    }
  }
}
