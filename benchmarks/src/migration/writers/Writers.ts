import { type Database, withClient } from '../database';
import { SCHEMA } from '../operator';
import type { Application } from './Application';
import { Writer } from './Writer';
import { WriteLog } from './WriteLog';

const WRITERS = 4;
const ENTITIES_PER_WRITER = 2_000;

/** Four connections that write while something else goes on. */
export class Writers {
  readonly log = new WriteLog();
  readonly #database: Database;
  readonly #writers: Writer[];

  static async create(database: Database): Promise<Writers> {
    return new Writers(database, await sample(database));
  }

  private constructor(database: Database, ids: string[]) {
    this.#database = database;
    this.#writers = Array.from(
      { length: WRITERS },
      (_, own) =>
        new Writer(
          this.log,
          ids.filter((__, index) => index % WRITERS === own),
        ),
    );
  }

  /** Begins to write as an application. */
  async start(application: Application): Promise<void> {
    await Promise.all(
      this.#writers.map(writer => writer.start(this.#database, application)),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#writers.map(writer => writer.stop()));
  }
}

/** Some entities from everywhere in the table. */
async function sample(database: Database): Promise<string[]> {
  return withClient(database, async client => {
    const wanted = WRITERS * ENTITIES_PER_WRITER;
    const { rows } = await client.query<{ id: string }>(
      `select entity_id as id from ${SCHEMA}.entities
        where random() < ${
          2 * wanted
        }.0 / (select count(*) from ${SCHEMA}.entities)
        order by random() limit ${wanted}`,
    );
    return rows.map(({ id }) => id);
  });
}
