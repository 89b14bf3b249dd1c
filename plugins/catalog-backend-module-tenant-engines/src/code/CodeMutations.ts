import type { LoggerService } from '@backstage/backend-plugin-api';
import { ConflictError, InputError, NotFoundError } from '@backstage/errors';
import type { EntityProviderMutation } from '@backstage/plugin-catalog-node';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  type ProvidedEntity,
  type TenantDatabase,
  type TenantMutation,
} from 'backstage-plugin-catalog-tenancy-node';
import { setTimeout as delay } from 'node:timers/promises';
import type { SupervisedEngine } from '../engine/SupervisedEngine';
import { runningEngine, toEngineError } from '../routes/engineErrors';
import type { SourceBounds } from '../sources/bounds';
import { DEFAULT_SOURCE } from './CodeSources';
import { STAMP, stamped, stampsOf } from './stamp';

const REFS_PER_QUERY = 1_000;
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** Passes mutations from code of this backend to the engines of tenants. */
export class CodeMutations {
  /**
   * @param options - `notifyWork` tells the process that does the background work of a tenant
   * that there may be some
   */
  constructor(
    private readonly options: {
      bounds: Pick<SourceBounds, 'maxEntityBytes'>;
      find: (tenantId: string) => Promise<SupervisedEngine | undefined>;
      notifyWork: (tenantId: string) => void;
      database: Pick<TenantDatabase, 'query'>;
      logger: LoggerService;
    },
  ) {}

  /**
   * Passes a mutation to the provider of this process's engine, as a request passes it a
   * location: the provider writes the engine's tables in one transaction, whichever process has
   * the lease. That process alone processes what is written.
   *
   * @param run - runs the write; by default it needs no lease
   */
  async apply(
    tenantId: string,
    mutation: TenantMutation,
    run: (tenant: ActiveTenant, write: () => Promise<void>) => Promise<void> = (
      _,
      write,
    ) => write(),
  ): Promise<void> {
    const { source = DEFAULT_SOURCE } = mutation;
    const supervised = await this.#require(tenantId);
    const engine = await runningEngine(supervised);
    const connection = engine.sources?.connectionOf(source);
    if (!connection) {
      throw new InputError(
        `No source '${source}'. Add it: tenantEngines({ sources: ['${source}'] })`,
      );
    }
    try {
      await run(supervised.tenant, () =>
        connection.applyMutation(
          toProviderMutation(mutation, each =>
            stamped(each, source, this.options.bounds),
          ),
        ),
      );
    } catch (error) {
      throw error instanceof TypeError
        ? new InputError(error.message)
        : toEngineError(error, {
            action: 'applyMutation',
            supervised,
            logger: this.options.logger,
          });
    }
    this.options.notifyWork(tenantId);
  }

  /** Resolves once the tenant's rows have each entity of the mutation as it was handed over. */
  async served(
    tenantId: string,
    mutation: TenantMutation,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<void> {
    const expected = stampsOf(mutation);
    let pauseMs = SHORTEST_PAUSE_MS;
    for (;;) {
      signal?.throwIfAborted();
      await this.#strikeServed(tenantId, expected);
      if (expected.size === 0) {
        return;
      }
      await delay(pauseMs, undefined, { signal });
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  async #strikeServed(
    tenantId: string,
    expected: Map<string, string>,
  ): Promise<void> {
    const refs = [...expected.keys()];
    for (let at = 0; at < refs.length; at += REFS_PER_QUERY) {
      const some = refs.slice(at, at + REFS_PER_QUERY);
      const rows = await this.options.database.query<{
        ref: string;
        stamp: string;
      }>(tenantId, scope =>
        scope
          .table('entities')
          .whereNull('deleted_at')
          .whereIn('entity_ref', some)
          .select({
            ref: 'entity_ref',
            stamp: scope.knex.raw(
              `final_entity #>> array['metadata', 'annotations', ?]`,
              [STAMP],
            ),
          }),
      );
      rows
        .filter(({ ref, stamp }) => expected.get(ref) === stamp)
        .forEach(({ ref }) => expected.delete(ref));
    }
  }

  async #require(tenantId: string): Promise<SupervisedEngine> {
    if (tenantId === DEFAULT_TENANT_ID) {
      throw new ConflictError(
        'The catalog plugin of the backend feeds the default tenant: add an entity provider to it',
      );
    }
    const supervised = await this.options.find(tenantId);
    if (!supervised) {
      throw new NotFoundError(
        `No active tenant with an engine has the id '${tenantId}'`,
      );
    }
    return supervised;
  }
}

function toProviderMutation(
  mutation: TenantMutation,
  provide: (entity: ProvidedEntity) => ProvidedEntity,
): EntityProviderMutation {
  return mutation.type === 'full'
    ? { type: 'full', entities: mutation.entities.map(provide) }
    : {
        type: 'delta',
        added: mutation.added.map(provide),
        removed: mutation.removed,
      };
}
