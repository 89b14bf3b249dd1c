import type { LoggerService } from '@backstage/backend-plugin-api';
import { RELATION_MEMBER_OF } from '@backstage/catalog-model';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  type TenantChanges,
  type TenantDatabase,
} from 'backstage-plugin-catalog-tenancy-node';
import { describeFailure } from '../engine/failures';
import createLimit from 'p-limit';
import type { EnginePool } from '../work/EnginePool';
import type { BackgroundWork } from '../work/BackgroundWork';
import { ownersOf } from '../work/ownersOf';
import { MemberEntities, PROVIDER_NAME } from './MemberEntities';
import { type MemberSources, readMemberEntities } from './readMemberEntities';

/** The interval of checks for changed users and groups in the identity catalog. */
const IDENTITY_MS = 10_000;

/** How many engines' members are read at the same time. */
const READS = 2;

/**
 * Brings the members of tenants into the catalogs of running engines, and reports which other
 * tenants' members have changed.
 */
export class MembersOfTenants {
  /** Called for a tenant without a running engine, after its members may have changed. */
  onClosed: (tenantId: string) => void = () => undefined;
  readonly #sources: MemberSources;
  readonly #database: Pick<TenantDatabase, 'query'>;
  readonly #logger: LoggerService;
  readonly #pool: Pick<EnginePool, 'query'>;
  /** Those of all engines at once would fill the queue of the identity catalog's own users. */
  readonly #reads = createLimit(READS);
  readonly #open = new Map<string, MemberEntities>();
  #identities?: string;
  /** By tenant, of its members in the identity catalog. */
  #digests?: Map<string, string>;
  #timer?: NodeJS.Timeout;
  #isStopped = false;

  constructor(options: {
    changes: TenantChanges;
    database: Pick<TenantDatabase, 'query'>;
    logger: LoggerService;
    pool: Pick<EnginePool, 'query'>;
    sources: MemberSources;
  }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#pool = options.pool;
    this.#sources = options.sources;
    options.changes.onChange(change => {
      if (!change) {
        this.#refreshAll();
        // Notifications of changed members may have been missed.
        this.#identities = undefined;
      } else if ('membersOf' in change) {
        this.refresh(change.membersOf);
      }
    });
    this.#watchIdentities();
  }

  /** The provider of an engine that starts, until it is closed. */
  open(
    tenant: ActiveTenant,
    { work, logger }: { work: BackgroundWork; logger: LoggerService },
  ): MemberEntities {
    const { tenantId } = tenant;
    const entities = new MemberEntities({
      work,
      logger,
      read: () => this.#reads(() => readMemberEntities(tenant, this.#sources)),
      ownersOf: refs =>
        ownersOf(this.#pool, tenantId, { refs, sourceKey: PROVIDER_NAME }),
    });
    this.#open.set(tenantId, entities);
    return entities;
  }

  close(tenantId: string, entities: MemberEntities): void {
    entities.close();
    // Another engine of the tenant may have started meanwhile.
    if (this.#open.get(tenantId) === entities) {
      this.#open.delete(tenantId);
    }
  }

  /** Brings the members in a tenant's catalog up to date. */
  refresh(tenantId: string): void {
    const entities = this.#open.get(tenantId);
    if (entities) {
      entities.refresh();
    } else {
      this.onClosed(tenantId);
    }
  }

  /** Whether the engine of a tenant does not have its current members yet. */
  isBusy(tenantId: string): boolean {
    return this.#open.get(tenantId)?.isBusy === true;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#open.forEach(entities => entities.close());
  }

  #refreshAll(): void {
    this.#open.forEach(entities => entities.refresh());
  }

  #watchIdentities(): void {
    const look = async () => {
      const seen = await this.#digestOfIdentities();
      if (this.#identities !== seen) {
        const before = this.#digests;
        const digests = await this.#digestsOfMembers();
        this.#digests = digests;
        this.#identities = seen;
        if (before) {
          [...new Set([...before.keys(), ...digests.keys()])]
            .filter(id => before.get(id) !== digests.get(id))
            .forEach(id => this.refresh(id));
        } else {
          this.#refreshAll();
        }
      }
    };
    this.#timer = setTimeout(() => {
      look()
        .catch(error =>
          this.#logger.debug(
            `The identity catalog can't be read at the moment: ${describeFailure(
              error,
            )}`,
          ),
        )
        .finally(() => {
          if (!this.#isStopped) {
            this.#watchIdentities();
          }
        });
    }, IDENTITY_MS);
  }

  /** Another one after each change of a user or group of the default tenant. */
  async #digestOfIdentities(): Promise<string> {
    const [{ digest }] = await this.#database.query<{ digest: string }>(
      DEFAULT_TENANT_ID,
      scope =>
        scope
          .table('entities')
          .whereNull('deleted_at')
          .whereIn('entity_kind', ['user', 'group'])
          .select(
            scope.knex.raw(
              `count(*) || ' ' || coalesce(sum(hashtext(entity_ref || hash)::bigint), 0) as digest`,
            ),
          ),
    );
    return digest;
  }

  /** By tenant: another one after each change of a member of it, or of a user in one. */
  async #digestsOfMembers(): Promise<Map<string, string>> {
    const rows = await this.#database.query<{ id: string; digest: string }>(
      DEFAULT_TENANT_ID,
      scope =>
        scope
          .table('entities', 'e')
          .joinRaw(
            `cross join lateral (
               select e.entity_ref as ref
                union
               select r ->> 'targetRef'
                 from jsonb_path_query(e.final_entity, '$.relations[*]') r
                where r ->> 'type' = ?) p`,
            [RELATION_MEMBER_OF],
          )
          .join({ m: 'tenant_members' }, 'm.principal', 'p.ref')
          .whereNull('e.deleted_at')
          .whereIn('e.entity_kind', ['user', 'group'])
          .groupBy('m.tenant_id')
          .select(
            { id: 'm.tenant_id' },
            scope.knex.raw(
              `count(*) || ' ' || sum(hashtext(e.entity_ref || e.hash)::bigint) as digest`,
            ),
          ),
    );
    return new Map(rows.map(({ id, digest }) => [id, digest]));
  }
}
