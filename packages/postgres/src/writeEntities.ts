import { createHash, randomUUID } from 'node:crypto';
import type { Knex } from 'knex';

/** A final entity: as it is read again, with its relations. */
interface FinalEntity {
  kind: string;
  metadata: { name: string; namespace?: string };
  relations?: { type: string; targetRef: string }[];
}

/** What a test writes for a tenant in place of an engine. */
export type EntityWrite<TEntity extends FinalEntity> = {
  /** Of whom the entities are. */
  source?: string;
} & (
  | { type: 'full'; entities: TEntity[] }
  | { type: 'delta'; added: TEntity[]; removed: { entityRef: string }[] }
);

/** The tenant's database, of the package that is tested. */
interface Database {
  transaction<T>(
    tenantId: string,
    work: (transaction: {
      knex: Knex;
      query<TRow extends object>(statement: Knex.Raw): Promise<TRow[]>;
    }) => Promise<T>,
  ): Promise<T>;
}

const OTHERS_OF_SOURCE = `e.entity_ref <> all (?::text[]) and exists (
  select 1 from refresh_state s
   where s.tenant_id = e.tenant_id and s.entity_id = e.entity_id
     and s.location_key is not distinct from ?::text)`;

/**
 * Writes final entities to the tables of a tenant, in one transaction and as the application's
 * user. An entity that comes back keeps its id.
 */
export function writeEntities<TEntity extends FinalEntity>(
  database: Database,
  tenantId: string,
  write: EntityWrite<TEntity>,
): Promise<void> {
  const source = write.source ?? null;
  const entities = write.type === 'full' ? write.entities : write.added;
  const refs = entities.map(refOf);
  return database.transaction(tenantId, async ({ knex, query }) => {
    const run = <TRow extends object>(sql: string, values: unknown[]) =>
      query<TRow>(knex.raw(sql, values as Knex.RawBinding[]));
    const known = new Map(
      (
        await run<{ entity_ref: string; entity_id: string }>(
          'select entity_ref, entity_id from entities where tenant_id = ?::uuid and entity_ref = any (?)',
          [tenantId, refs],
        )
      ).map(row => [row.entity_ref, row.entity_id]),
    );
    const rows = entities.map((entity, at) =>
      toRow(entity, refs[at], known.get(refs[at]) ?? randomUUID()),
    );
    const [isGone, values] =
      write.type === 'full'
        ? [OTHERS_OF_SOURCE, [refs, source]]
        : [
            'e.entity_ref = any (?::text[])',
            [write.removed.map(each => each.entityRef)],
          ];
    const gone = await run<{ entity_id: string }>(
      `update entities e set deleted_at = now(), updated_at = now()
        where e.tenant_id = ?::uuid and e.deleted_at is null and ${isGone}
       returning e.entity_id`,
      [tenantId, ...values],
    );
    await run(
      `insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
                             entity_name, final_entity, hash)
       select ?::uuid, r.id, r.ref, r.kind, r.namespace, r.name, r.entity, r.hash
         from jsonb_to_recordset(?::jsonb) r (id uuid, ref text, kind text, namespace text,
                                              name text, entity jsonb, hash text)
       on conflict (tenant_id, entity_id) do update
          set final_entity = excluded.final_entity, hash = excluded.hash,
              updated_at = now(), deleted_at = null
        where entities.hash <> excluded.hash or entities.deleted_at is not null`,
      [tenantId, JSON.stringify(rows)],
    );
    const left = [
      ...gone.map(row => row.entity_id),
      ...rows.map(({ id }) => id),
    ];
    await run(
      'delete from relations where tenant_id = ?::uuid and originating_entity_id = any (?::uuid[])',
      [tenantId, left],
    );
    await run(
      'delete from refresh_state where tenant_id = ?::uuid and entity_id = any (?::uuid[])',
      [tenantId, left],
    );
    await run(
      `insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       select distinct ?::uuid, r.id, r.ref, l.type, l."targetRef"
         from jsonb_to_recordset(?::jsonb) r (id uuid, ref text, entity jsonb),
              jsonb_to_recordset(coalesce(r.entity -> 'relations', '[]')) l (type text, "targetRef" text)`,
      [tenantId, JSON.stringify(rows)],
    );
    await run(
      `insert into refresh_state (tenant_id, entity_id, location_key)
       select ?::uuid, r.id, ?::text from jsonb_to_recordset(?::jsonb) r (id uuid)`,
      [tenantId, source, JSON.stringify(rows)],
    );
  });
}

function toRow(entity: FinalEntity, ref: string, id: string) {
  const [kind, rest] = ref.split(/:(.*)/);
  const [namespace, name] = rest.split(/\/(.*)/);
  const {
    uid: _,
    etag: __,
    ...metadata
  } = entity.metadata as FinalEntity['metadata'] & {
    uid?: string;
    etag?: string;
  };
  const content = { ...entity, metadata };
  const hash = createHash('sha256')
    .update(JSON.stringify(content))
    .digest('hex');
  return {
    id,
    ref,
    kind,
    namespace,
    name,
    hash,
    entity: { ...content, metadata: { ...metadata, uid: id, etag: hash } },
  };
}

function refOf({ kind, metadata }: FinalEntity): string {
  return `${kind}:${metadata.namespace ?? 'default'}/${
    metadata.name
  }`.toLowerCase();
}
