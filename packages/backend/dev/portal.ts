import { createBackendPlugin } from '@backstage/backend-plugin-api';
import {
  type Entity,
  type EntityRelation,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { targetPaths } from '@backstage/cli-common';
import { parseEntityYaml } from '@backstage/plugin-catalog-node';
import {
  catalogStoreServiceRef,
  tenancyServiceRef,
  type TenantStore,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { readFile } from 'fs/promises';
import { createPortal, startPortal } from '../src/createPortal';
import { SAMPLE_SLUG } from './banner';

// What `npm start` runs as the backend: that of production, and a second tenant.

const FILE = 'examples/acme.yaml';

/**
 * Gives a portal in development a second tenant with entities of its own. Once it is
 * deleted, it stays so.
 */
const sampleTenant = createBackendPlugin({
  pluginId: 'sample-tenant',
  register(env) {
    env.registerInit({
      deps: {
        catalog: catalogStoreServiceRef,
        tenancy: tenancyServiceRef,
        tenants: tenantStoreServiceRef,
      },
      async init({ catalog, tenancy, tenants }) {
        if (!tenancy.config.enabled) {
          return;
        }
        const tenantId = await ensureTenant(tenants);
        if (tenantId) {
          const entities = await readEntities(targetPaths.resolveRoot(FILE));
          await catalog.applyMutation(tenantId, {
            type: 'full',
            source: FILE,
            entities: withRelations(entities),
          });
        }
      },
    });
  },
});

async function ensureTenant(tenants: TenantStore): Promise<string | undefined> {
  const found = await tenants.get(SAMPLE_SLUG);
  if (found) {
    return found.deleted_at ? undefined : found.tenant_id;
  }
  const { tenant_id } = await tenants.create({
    tenant_slug: SAMPLE_SLUG,
    tenant_name: 'Acme',
  });
  return tenant_id;
}

/** The entities of a YAML file, as one writes them. */
async function readEntities(path: string): Promise<Entity[]> {
  const results = parseEntityYaml(await readFile(path), {
    type: 'file',
    target: path,
  });
  return [...results].map(result => {
    if (result.type !== 'entity') {
      throw new Error(
        result.type === 'error'
          ? result.error.message
          : `${path} is not usable`,
      );
    }
    return result.entity;
  });
}

// A field of a spec, the kind that it names, and the relation in both directions.
const FIELDS: Array<
  [field: string, kind: string | undefined, type: string, back: string]
> = [
  ['owner', 'Group', 'ownedBy', 'ownerOf'],
  ['memberOf', 'Group', 'memberOf', 'hasMember'],
  ['parent', 'Group', 'childOf', 'parentOf'],
  ['domain', 'Domain', 'partOf', 'hasPart'],
  ['system', 'System', 'partOf', 'hasPart'],
  ['providesApis', 'API', 'providesApi', 'apiProvidedBy'],
  ['consumesApis', 'API', 'consumesApi', 'apiConsumedBy'],
  ['dependsOn', undefined, 'dependsOn', 'dependencyOf'],
];

/**
 * Entities as they are read again. The engine of the stock catalog would derive the
 * relations, but works for the default tenant only.
 */
function withRelations(entities: Entity[]): Entity[] {
  const relations = new Map<string, EntityRelation[]>();
  const relate = (sourceRef: string, type: string, targetRef: string) =>
    relations.set(sourceRef, [
      ...(relations.get(sourceRef) ?? []),
      { type, targetRef },
    ]);
  for (const entity of entities) {
    const ref = stringifyEntityRef(entity);
    for (const [field, defaultKind, type, back] of FIELDS) {
      for (const name of [entity.spec?.[field] ?? []].flat().map(String)) {
        const target = stringifyEntityRef(
          parseEntityRef(name, { defaultKind }),
        );
        relate(ref, type, target);
        relate(target, back, ref);
      }
    }
  }
  return entities.map(entity => ({
    ...entity,
    metadata: { namespace: 'default', ...entity.metadata },
    relations: relations.get(stringifyEntityRef(entity)) ?? [],
  }));
}

const portal = createPortal();
portal.add(sampleTenant);
startPortal(portal);
