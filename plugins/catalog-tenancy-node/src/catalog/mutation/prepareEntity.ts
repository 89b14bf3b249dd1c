import {
  DEFAULT_NAMESPACE,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { z } from 'zod';
import { duplicateKeys } from './duplicateKeys';
import { stableHash, toJson } from './entityJson';

/** What an index of PostgreSQL can hold, with room for the tenant. */
const MAX_REF_BYTES = 2_000;

const text = z.string().min(1);

/** What an entity needs so that it can be stored and found. */
const envelope = z.looseObject({
  apiVersion: text,
  kind: text,
  metadata: z.looseObject({ name: text, namespace: text.optional() }),
  relations: z.array(z.looseObject({ type: text, targetRef: text })).optional(),
});

/** A relation of an entity, as it is written. */
export interface PreparedRelation {
  type: string;
  targetRef: string;
}

/** An entity that can be stored. */
export interface PreparedEntity {
  ref: string;
  /** The parts of the ref. */
  kind: string;
  namespace: string;
  name: string;
  hash: string;
  relations: PreparedRelation[];
  /** Its JSON, once it has an id. */
  toFinalEntity(entityId: string): string;
}

/**
 * Checks an entity, without a look at the database.
 *
 * @throws `InputError` that names the entity and says what is wrong with it
 */
export function prepareEntity(
  entity: unknown,
  position: number,
): PreparedEntity {
  const where = describe(entity, position);
  const json = readJson(entity, where);
  const parsed = envelope.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new InputError(
      `Invalid ${where}: ${issue.path.join('.') || 'it'}: ${issue.message}`,
    );
  }
  const { kind, metadata, relations = [] } = parsed.data;
  const parts = {
    kind: kind.toLowerCase(),
    namespace: (metadata.namespace ?? DEFAULT_NAMESPACE).toLowerCase(),
    name: metadata.name.toLowerCase(),
  };
  const ref = stringifyEntityRef(parts);
  refuseAmbiguous(parts, ref, where);
  const duplicates = duplicateKeys(
    json,
    relations.map(({ type }) => type),
  );
  if (duplicates.length > 0) {
    throw new InputError(
      `Invalid ${where}: it has duplicate keys that vary only in casing, '${duplicates.join(
        `', '`,
      )}'`,
    );
  }
  const content = withoutIdentity(json);
  const hash = stableHash(content);
  return {
    ref,
    ...parts,
    hash,
    relations: prepareRelations(relations, where),
    toFinalEntity: entityId =>
      JSON.stringify({
        ...content,
        metadata: {
          ...(content.metadata as JsonObject),
          uid: entityId,
          etag: hash,
        },
      }),
  };
}

/** The names of an entity in an error. */
function describe(entity: unknown, position: number): string {
  const parsed = envelope
    .pick({ kind: true, metadata: true })
    .safeParse(entity);
  return parsed.success
    ? `entity ${JSON.stringify(
        stringifyEntityRef({
          kind: parsed.data.kind,
          namespace: parsed.data.metadata.namespace,
          name: parsed.data.metadata.name,
        }).slice(0, 300),
      )}`
    : `entity at position ${position}`;
}

function readJson(entity: unknown, where: string): JsonObject {
  if (typeof entity !== 'object' || entity === null || Array.isArray(entity)) {
    throw new InputError(`Invalid ${where}: expected an object`);
  }
  try {
    return toJson(entity);
  } catch (error) {
    throw new InputError(`Invalid ${where}: ${(error as Error).message}`);
  }
}

/** A ref that is read back must be the same one. */
function refuseAmbiguous(
  parts: { kind: string; namespace: string; name: string },
  ref: string,
  where: string,
): void {
  const read = parseEntityRef(ref);
  if (
    read.kind !== parts.kind ||
    read.namespace !== parts.namespace ||
    read.name !== parts.name
  ) {
    throw new InputError(
      `Invalid ${where}: expected no ":" in the kind, and no "/" in the kind and the namespace`,
    );
  }
  refuseLong(ref, where);
}

function refuseLong(ref: string, where: string): void {
  if (Buffer.byteLength(ref) > MAX_REF_BYTES) {
    throw new InputError(
      `Invalid ${where}: expected entity refs of at most ${MAX_REF_BYTES} bytes`,
    );
  }
}

/** Each relation once, with its target as refs are stored. */
function prepareRelations(
  relations: PreparedRelation[],
  where: string,
): PreparedRelation[] {
  const prepared = new Map<string, PreparedRelation>();
  for (const { type, targetRef } of relations) {
    refuseLong(targetRef, where);
    refuseLong(type, where);
    const target = toTargetRef(targetRef, where);
    prepared.set(JSON.stringify([type, target]), { type, targetRef: target });
  }
  return [...prepared.values()];
}

function toTargetRef(targetRef: string, where: string): string {
  try {
    return stringifyEntityRef(parseEntityRef(targetRef));
  } catch {
    throw new InputError(
      `Invalid ${where}: relations: ${JSON.stringify(
        targetRef,
      )} is no entity ref, expected "<kind>:<namespace>/<name>"`,
    );
  }
}

/**
 * An entity without what the store gives it: one that was read from here and is
 * written again has not changed.
 */
function withoutIdentity(entity: JsonObject): JsonObject {
  const { uid, etag, ...metadata } = entity.metadata as JsonObject;
  return { ...entity, metadata };
}
