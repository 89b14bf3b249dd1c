import createKnex from 'knex';
import type { Knex } from 'knex';
import type { Client, ClientConfig } from 'pg';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../schema/roles';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { MigrationSession } from '../session/MigrationSession';
import type { Executor } from './Executor';
import { STATE_TABLE } from './MigrationState';
import type { Step, StepContext } from './Step';

// Names of our own: the default ones are Backstage's catalog's, which refuses to
// start when it finds migrations there that it does not know.
const MIGRATIONS_TABLE = 'tenancy_migrations';
const LOCK_TABLE = 'tenancy_migrations_lock';

/** The tables of the migration itself. */
export const bookkeepingTables = [MIGRATIONS_TABLE, LOCK_TABLE, STATE_TABLE];

// A login that did not create these tables reaches them as portal_admin, once
// phase 4 has let that. Whoever can without stays what it is: an undo of phase 4
// takes the right from portal_admin again.
const REACH_BOOKKEEPING = (schema: string) => `do $$ begin
  if not has_table_privilege(${escapeLiteral(
    `${escapeIdentifier(schema)}.${MIGRATIONS_TABLE}`,
  )}, 'insert') then
    set role ${ADMIN_ROLE};
  end if;
end $$`;

// What fails is thrown as well.
const SILENT = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};

/** The schema and the tables in which steps are recorded, as Knex has them. */
export function bookkeepingStatements(schema: string): string[] {
  return [
    // IF NOT EXISTS asks for the right to create one even where it exists.
    `do $$ begin
  if to_regnamespace(${escapeLiteral(escapeIdentifier(schema))}) is null then
    create schema ${escapeIdentifier(schema)};
  end if;
end $$`,
    `create table if not exists ${MIGRATIONS_TABLE} (
  id serial primary key,
  name varchar(255),
  batch integer,
  migration_time timestamptz
)`,
    `create table if not exists ${LOCK_TABLE} (
  index serial primary key,
  is_locked integer
)`,
    `insert into ${LOCK_TABLE} (is_locked)
select 0 where not exists (select from ${LOCK_TABLE})`,
    `create table if not exists ${STATE_TABLE} (
  key text primary key,
  value jsonb not null
)`,
  ];
}

/** A step that is done. */
export interface StepRecord {
  name: string;
  time: Date;
}

/** The steps that are done and when they were, in their order. */
export async function readStepRecords(
  executor: Executor,
): Promise<StepRecord[]> {
  const [{ exists }] = await executor.read<{ exists: boolean }>(
    `select to_regclass('${MIGRATIONS_TABLE}') is not null as exists`,
  );
  if (!exists) {
    return [];
  }
  return executor.read<StepRecord>(
    `select name, migration_time as time from ${MIGRATIONS_TABLE} order by id`,
  );
}

/** The names of the steps that are done, in their order. */
export async function readCompletedSteps(
  executor: Executor,
): Promise<string[]> {
  const records = await readStepRecords(executor);
  return records.map(({ name }) => name);
}

/** The statements that record a step in a script that is run by hand. */
export function recordStatement(step: Step): string {
  return (
    `insert into ${MIGRATIONS_TABLE} (name, batch, migration_time) values ` +
    `(${escapeLiteral(step.name)}, 1, now())`
  );
}

/** The counterpart of {@link recordStatement} for a step that is undone. */
export function forgetStatement(step: Step): string {
  return `delete from ${MIGRATIONS_TABLE} where name = ${escapeLiteral(
    step.name,
  )}`;
}

/**
 * Runs steps as Knex migrations and records them.
 *
 * Knex has a connection of its own for its tables; the steps use the session that
 * holds the operator's lock.
 */
export class Bookkeeping {
  /** @param name - how its connection is known in `pg_stat_activity` */
  static async open(
    connection: ClientConfig,
    name: string,
    context: StepContext,
  ): Promise<Bookkeeping> {
    const knex = createKnex({
      client: 'pg',
      connection: {
        ...connection,
        application_name: name,
      } as Knex.PgConnectionConfig,
      pool: {
        min: 0,
        max: 1,
        afterCreate: (
          client: Client,
          done: (error: Error | undefined, client: Client) => void,
        ) => {
          const { schema } = context.settings;
          const begin = [
            MigrationSession.settings(schema),
            REACH_BOOKKEEPING(schema),
          ];
          client.query(begin.join(';\n')).then(
            () => done(undefined, client),
            error => done(error, client),
          );
        },
      },
      log: SILENT,
    });
    const bookkeeping = new Bookkeeping(knex, context);
    // Knex's lock is a row, which stays when a command is killed. Under the
    // operator's lock it can only be such a leftover.
    await knex.migrate
      .forceFreeMigrationsLock(bookkeeping.config([]))
      .catch(async error => {
        await bookkeeping.close();
        throw error;
      });
    return bookkeeping;
  }

  private constructor(
    private readonly knex: Knex,
    private readonly context: StepContext,
  ) {}

  /** Does those of the steps that are not done. */
  async up(steps: Step[]): Promise<void> {
    await this.knex.migrate.latest(this.config(steps));
  }

  /** Undoes the last of the steps that are done. */
  async down(steps: Step[]): Promise<void> {
    await this.knex.migrate.down(this.config(steps));
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }

  private config(steps: Step[]): Knex.MigratorConfig {
    const { context } = this;
    return {
      tableName: MIGRATIONS_TABLE,
      schemaName: context.settings.schema,
      // Steps have transactions of their own, as short as they can be.
      disableTransactions: true,
      migrationSource: {
        getMigrations: async () => steps,
        getMigrationName: (step: Step) => step.name,
        getMigration: async (step: Step) => ({
          up: async () => {
            context.reporter.info(step.title);
            await step.up(context);
          },
          down: async () => {
            context.reporter.info(`Undo: ${step.title}`);
            // Before the undo: one that is killed leaves a step that is half done,
            // which must not count as done for a command that goes forward again.
            await context.executor.execute(forgetStatement(step));
            try {
              await step.down(context);
            } catch (error) {
              if (error instanceof RefusedError) {
                await context.executor.execute(recordStatement(step));
              }
              throw error;
            }
          },
        }),
      },
    };
  }
}
