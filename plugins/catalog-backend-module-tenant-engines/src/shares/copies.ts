import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import {
  ANNOTATION_SHARE,
  ANNOTATION_SHARED_FROM,
} from 'backstage-plugin-catalog-tenancy-node';
import { InputError } from '@backstage/errors';
import type { LocationSpec } from '@backstage/plugin-catalog-node';
import type { JsonObject, JsonValue } from '@backstage/types';

/** The entity provider of each engine that brings copies. */
export const SHARES_SOURCE = 'shares';

/** The source of a share's entities. */
export interface Origin {
  shareId: string;
  /** The slug of the source. */
  sharedFrom: string;
  /** Owns the copies whose own owner is not shared. */
  owner: string | null;
}

/** The owner of a copy without an owner: the catalog requires one for most kinds. */
const NOBODY = 'unknown';

/**
 * What the engine of a receiving tenant would read elsewhere: a location in the name of its
 * tenant, and documents from the source's store. And where only the source edits the entity.
 */
const KINDS_LEFT_OUT = ['location'];
const ANNOTATIONS_LEFT_OUT = [
  'backstage.io/edit-url',
  'backstage.io/techdocs-ref',
  'backstage.io/techdocs-entity',
  'backstage.io/techdocs-entity-path',
  'backstage.io/managed-by-location',
  'backstage.io/managed-by-origin-location',
  'backstage.io/orphan',
];

/** The fields of `spec` that name other entities, with the kind that a name alone means. */
const REFERENCES: Record<string, string | undefined> = {
  apiConsumedBy: 'component',
  apiProvidedBy: 'component',
  children: 'group',
  consumesApis: 'api',
  dependencyOf: undefined,
  dependsOn: undefined,
  domain: 'domain',
  memberOf: 'group',
  members: 'user',
  parent: 'group',
  providesApis: 'api',
  subcomponentOf: 'component',
  subdomainOf: 'domain',
  system: 'system',
};

/** Whether an entity of a source can be shared at all. */
export function isShareable({ kind, metadata }: Entity): boolean {
  return (
    !KINDS_LEFT_OUT.includes(kind.toLocaleLowerCase('en-US')) &&
    // Received copies are not shared again: a circle of shares would never end.
    metadata.annotations?.[ANNOTATION_SHARE] === undefined
  );
}

/**
 * The copy that a receiving tenant gets of an entity. It names no entity of the source that the
 * tenant does not get as well.
 *
 * @param isReceived - whether the tenant gets the entity with this ref
 */
export function copyOf(
  entity: Entity,
  origin: Origin,
  isReceived: (ref: string) => boolean,
): Entity {
  const { etag, uid, ...metadata } = entity.metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([name]) => !ANNOTATIONS_LEFT_OUT.includes(name),
    ),
  );
  return {
    apiVersion: entity.apiVersion,
    kind: entity.kind,
    metadata: {
      ...metadata,
      annotations: {
        ...annotations,
        [ANNOTATION_SHARE]: origin.shareId,
        [ANNOTATION_SHARED_FROM]: origin.sharedFrom,
      },
    },
    ...(entity.spec && { spec: specOf(entity, origin, isReceived) }),
  };
}

function specOf(
  entity: Entity,
  { owner }: Origin,
  isReceived: (ref: string) => boolean,
): JsonObject {
  const namespace = entity.metadata.namespace ?? 'default';
  const keeps = (value: JsonValue | undefined, defaultKind?: string) => {
    const ref = refOf(value, { defaultKind, defaultNamespace: namespace });
    return ref !== undefined && isReceived(ref);
  };
  const spec: JsonObject = {};
  for (const [field, value] of Object.entries(entity.spec!)) {
    if (field === 'owner') {
      spec.owner = keeps(value, 'group') ? value : owner ?? NOBODY;
    } else if (!Object.hasOwn(REFERENCES, field)) {
      spec[field] = value;
    } else if (Array.isArray(value)) {
      spec[field] = value.filter(each => keeps(each, REFERENCES[field]));
    } else if (keeps(value, REFERENCES[field])) {
      spec[field] = value;
    }
  }
  return spec;
}

/** `undefined` for an invalid reference. */
function refOf(
  value: JsonValue | undefined,
  context: { defaultKind?: string; defaultNamespace: string },
): string | undefined {
  try {
    return stringifyEntityRef(parseEntityRef(value as string, context));
  } catch {
    return undefined;
  }
}

/** @throws InputError for an entity that says it is a copy, and comes from elsewhere */
export function refuseFalseCopy(
  { metadata }: Entity,
  { type, target }: LocationSpec,
): void {
  const claimed = [ANNOTATION_SHARE, ANNOTATION_SHARED_FROM].find(
    name => metadata.annotations?.[name] !== undefined,
  );
  if (claimed && (type !== 'code' || target !== SHARES_SOURCE)) {
    throw new InputError(
      `The annotation ${claimed} is for copies of entities that other tenants share: remove it`,
    );
  }
}
