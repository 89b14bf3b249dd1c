import createKnex from 'knex';
import type { Knex } from 'knex';
import type { Client, ClientConfig } from 'pg';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { MigrationSession } from '../session/MigrationSession';
import {
  forgetStatement,
  LOCK_TABLE,
  MIGRATIONS_TABLE,
  recordStatement,
} from './journal';
import { STATE_TABLE } from './MigrationState';
import { refuseForeignObjects, runOwned, undoOwned } from './ownership';
import type { Step, StepContext } from './Step';

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

/**
 * Runs steps as Knex migrations and records them.
 *
 * Knex has a connection of its own for its tables; the steps use the session that
 * holds the operator's lock.
 */
export class Bookkeeping {
  /**
   * @param name - how its connection is known in `pg_stat_activity`
   * @param all - every step of the migration
   */
  static async open(
    connection: ClientConfig,
    name: string,
    context: StepContext,
    all: Step[],
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
    const bookkeeping = new Bookkeeping(knex, context, all);
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
    private readonly all: Step[],
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
            await runOwned(context, this.all, step);
          },
          down: async () => {
            context.reporter.info(`Undo: ${step.title}`);
            await refuseForeignObjects(context, this.all, step);
            // Before the undo: one that is killed leaves a step that is half done,
            // which must not count as done for a command that goes forward again.
            await context.executor.execute(forgetStatement(step));
            try {
              await undoOwned(context, step);
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
