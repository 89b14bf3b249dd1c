import {
  type BackendFeature,
  coreServices,
  createBackendModule,
  createServiceFactory,
  type RootLoggerService,
} from '@backstage/backend-plugin-api';

/** What the backend says at its start where something is kept aside. */
const REPORT = /^\d+ rows? of the catalog's engine could not be carried over/;

/** What it says at its start of how these tests have it configured. */
const OPEN_MEMBERSHIP = /^tenancy\.membership is open: /;

// What the engine says where it has to try again, for reasons of its own: an entity
// that two sources claim for a moment, or that is deleted while it is processed or
// stitched. Statements that fail meanwhile are judged one by one.
const USUAL = [
  // Of the machine: tests share its processors.
  /^The process stood still for /,
  REPORT,
  OPEN_MEMBERSHIP,
  /detected conflicting entityRef/i,
  /^Failed to (stitch|delete orphaned entities) .*(violates foreign key constraint|deadlock detected)/s,
  /^Processing of .* failed ConflictError: Conflicting write of processing result/,
];

/**
 * Unique and foreign keys of the stock catalog's own, by which it finds that out. And
 * deadlocks over rows of its own queue, of its terms or, where a deletion cascades, of its
 * final entities, which it locks in no order and then tries again: nothing of ours is at
 * work there. Its statement for the terms, a
 * transaction of its own, comes to no other tables than `search` and `final_entities`.
 *
 * The second of those who wait for one row is not at that row yet: it waits for its turn
 * (a lock "on tuple"), and PostgreSQL says nothing of where. Had a trigger of ours come
 * to that row, its function would be named there.
 */
function isOfItsOwn(
  { code = '', schema, where = '', detail = '' }: FailedStatement,
  sql: string,
): boolean {
  return (
    (['23503', '23505'].includes(code) && schema === 'public') ||
    (code === '40P01' &&
      (/^while [a-z ]+ tuple \S+ in relation "refresh_state"$/.test(where) ||
        (where === '' &&
          /^Process \d+ waits for \w+ on tuple /.test(detail) &&
          /^(update|delete from) "refresh_state" /i.test(sql)) ||
        // By the cascade of a deletion.
        /^while \w+ tuple \S+ in relation "(search|final_entities)"\nSQL statement "DELETE FROM ONLY "public"."\1" /.test(
          where,
        ) ||
        /^\s*WITH desired AS .* DELETE FROM "search" /s.test(sql)))
  );
}

/** An error of PostgreSQL, as `pg` throws it. */
type FailedStatement = Error & {
  code?: string;
  schema?: string;
  where?: string;
  detail?: string;
};

/** A backend whose problems are noted. */
export interface FollowedBackend {
  features: BackendFeature[];
  /**
   * It is about to be stopped, and closes its connections under the work of its engine,
   * which the engine of the next one does again.
   */
  end(): void;
}

/**
 * Everything that goes wrong for the engine: what its logger is told at the level
 * of warnings and above, and each statement of its that fails.
 */
export class EngineLog {
  readonly problems: string[] = [];

  /** The features of a backend that notes its problems, until it is about to be stopped. */
  follow(): FollowedBackend {
    let isOver = false;
    const note = (problem: string) => {
      if (!isOver) {
        this.problems.push(problem);
      }
    };
    return {
      features: [this.logger(note), this.statements(note)],
      end: () => {
        isOver = true;
      },
    };
  }

  private logger(noteProblem: (problem: string) => void) {
    const note = (message: string, meta?: unknown) => {
      const text = meta ? `${message} ${describe(meta)}` : message;
      if (!USUAL.some(usual => usual.test(text))) {
        noteProblem(text);
      }
    };
    const logger: RootLoggerService = {
      error: note,
      warn: note,
      info: () => undefined,
      debug: () => undefined,
      child: () => logger,
    };
    return createServiceFactory({
      service: coreServices.rootLogger,
      deps: {},
      factory: () => logger,
    });
  }

  private statements(noteProblem: (problem: string) => void) {
    return createBackendModule({
      pluginId: 'catalog',
      moduleId: 'failed-statements',
      register(env) {
        env.registerInit({
          deps: { database: coreServices.database },
          async init({ database }) {
            const knex = await database.getClient();
            knex.on(
              'query-error',
              (error: FailedStatement, { sql }: { sql: string }) => {
                if (!isOfItsOwn(error, sql)) {
                  const { code, message, where, detail } = error;
                  noteProblem(
                    [`${code} ${message}: ${sql}`, where, detail].join('\n'),
                  );
                }
              },
            );
          },
        });
      },
    });
  }
}

function describe(meta: unknown): string {
  return meta instanceof Error ? String(meta.stack) : JSON.stringify(meta);
}
