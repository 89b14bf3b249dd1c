import {
  DEFAULT_NAMESPACE,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { SPECIAL_SEARCH_PATHS } from 'backstage-catalog-tenancy-migrations';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CatalogMutation } from '../CatalogStore';
import { isStorable } from '../conditions';
import { toStoredRef } from '../entityRefs';

/** A mutation whose every part can be stored. */
export interface PreparedMutation {
  type: CatalogMutation['type'];
  source: string | null;
  entities: PreparedEntity[];
  removedRefs: string[];
}

/**
 * Checks a mutation, without a look at the database.
 *
 * @throws `InputError`
 */
export function prepareMutation(mutation: CatalogMutation): PreparedMutation {
  const { type, source } = mutation;
  if (source !== undefined && !isSource(source)) {
    throw new InputError(
      `Invalid source ${JSON.stringify(source)}, expected a text`,
    );
  }
  switch (mutation.type) {
    case 'full':
      return {
        type,
        source: source ?? null,
        entities: prepareEntities(mutation.entities),
        removedRefs: [],
      };
    case 'delta': {
      const entities = prepareEntities(mutation.added);
      const removedRefs = mutation.removed.map(each =>
        toStoredRef(each.entityRef),
      );
      const added = new Set(entities.map(({ ref }) => ref));
      const both = removedRefs.find(ref => added.has(ref));
      if (both !== undefined) {
        throw new InputError(`Entity "${both}" is both added and removed`);
      }
      return {
        type,
        source: source ?? null,
        entities,
        removedRefs: [...new Set(removedRefs)].filter(isStorable),
      };
    }
    default:
      throw new InputError(
        `Invalid mutation type ${JSON.stringify(
          type,
        )}, expected "full" or "delta"`,
      );
  }
}

function prepareEntities(entities: unknown[]): PreparedEntity[] {
  const byRef = new Map<string, PreparedEntity>();
  entities.forEach((entity, position) => {
    const prepared = prepareEntity(entity, position);
    if (byRef.has(prepared.ref)) {
      throw new InputError(
        `Entity "${prepared.ref}" is there more than once, in whatever case`,
      );
    }
    byRef.set(prepared.ref, prepared);
  });
  return [...byRef.values()];
}

function isSource(source: unknown): boolean {
  return typeof source === 'string' && source !== '' && isStorable(source);
}

/** What an index of PostgreSQL can hold, with room for the tenant. */
const MAX_REF_BYTES = 2_000;

const nonEmpty = z.string().min(1);

/** What an entity needs so that it can be stored and found. */
const envelope = z.looseObject({
  apiVersion: nonEmpty,
  kind: nonEmpty,
  metadata: z.looseObject({
    name: nonEmpty,
    namespace: nonEmpty.optional(),
  }),
  relations: z
    .array(z.looseObject({ type: nonEmpty, targetRef: nonEmpty }))
    .optional(),
});

/** A relation of an entity, as it is written. */
interface PreparedRelation {
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
function prepareEntity(entity: unknown, position: number): PreparedEntity {
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

/**
 * The flattened keys of an entity that vary only in casing, in lower case. The stock
 * catalog refuses an entity that has any, for filters could not tell them apart.
 */
function duplicateKeys(entity: JsonObject, relationTypes: string[]): string[] {
  const keys = new Set<string>();
  // An array has a key for each of its strings, the first of each casing.
  const ofItems = new Set<string>();

  function visit(path: string, value: JsonValue | undefined): void {
    if (SPECIAL_SEARCH_PATHS.includes(path)) {
      return;
    }
    if (typeof value !== 'object' || value === null) {
      keys.add(path);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        visit(path, item);
        if (typeof item === 'string') {
          addItem(`${path}.${item}`);
        }
      }
    } else {
      for (const [key, child] of Object.entries(value)) {
        visit(path ? `${path}.${key}` : key, child);
      }
    }
  }

  function addItem(key: string): void {
    if (!ofItems.has(key.toLowerCase())) {
      ofItems.add(key.toLowerCase());
      keys.add(key);
    }
  }

  visit('', entity);
  for (const key of ['metadata.name', 'metadata.namespace', 'metadata.uid']) {
    keys.add(key);
  }
  relationTypes.forEach(type => keys.add(`relations.${type}`));

  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const key of keys) {
    const lower = key.toLowerCase();
    (seen.has(lower) ? duplicates : seen).add(lower);
  }
  return [...duplicates];
}

/** Deeper than any entity that a person has written. */
const MAX_DEPTH = 200;
/** PostgreSQL's own limit is 256 MiB, and a chunk of a mutation is held in memory. */
const MAX_BYTES = 16 * 1024 * 1024;
/** A number of a single unit may have 25 bytes, and a control character 6. */
const MOST_BYTES_PER_UNIT = 25;

// A lone surrogate matches \p{Surrogate} under the u flag, a pair does not.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

const TOO_LARGE = `it is larger than ${MAX_BYTES} bytes`;
const LONGEST_KEY = 60;
const LONGEST_PATH = 240;

/** Where a copy has come to. */
interface Copying {
  path: Array<string | number>;
  /** The objects that hold the value. */
  holders: object[];
  /** UTF-16 units of JSON so far, a number or word counted as one, and no escapes. */
  units: number;
}

/**
 * A copy of an object as JSON and PostgreSQL keep it.
 *
 * What JSON.stringify would drop or replace without a word is refused: numbers that
 * are not finite (1e400 is read as Infinity), functions, symbols, objects with a class
 * such as Date or Map, items of a list that are undefined. A property that is
 * undefined is left out: that is how TypeScript writes an optional field.
 * -0 becomes 0, which is the same number in JSON.
 *
 * @throws Error that names the path of the value and says what is wrong with it
 */
function toJson(value: object): JsonObject {
  const copying: Copying = { path: [], holders: [value], units: 0 };
  const json = copyMembers(value, copying);
  if (
    copying.units * MOST_BYTES_PER_UNIT > MAX_BYTES &&
    Buffer.byteLength(JSON.stringify(json)) > MAX_BYTES
  ) {
    throw new Error(TOO_LARGE);
  }
  return json;
}

/**
 * Tells whether an entity has changed, whatever the order of its keys. No other
 * writer of the table makes such hashes: rows of others are written once anew.
 */
function stableHash(entity: JsonObject): string {
  return createHash('sha256').update(canonical(entity)).digest('hex');
}

function copy(value: unknown, copying: Copying): JsonValue {
  switch (typeof value) {
    case 'string':
      count(copying, value.length + 2);
      refuseUnstorable(value, copying);
      return value;
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) {
        throw refusal(copying, `${value}, expected a finite number`);
      }
      return value;
    case 'object':
      return value === null ? null : copyObject(value, copying);
    default:
      throw refusal(copying, notJson(withArticle(typeof value)));
  }
}

function copyObject(value: object, copying: Copying): JsonValue {
  if (copying.holders.includes(value)) {
    throw refusal(copying, 'it holds itself');
  }
  if (copying.holders.length === MAX_DEPTH) {
    throw new Error(`it is nested deeper than ${MAX_DEPTH} levels`);
  }
  copying.holders.push(value);
  const json = Array.isArray(value)
    ? copyList(value, copying)
    : copyMembers(value, copying);
  copying.holders.pop();
  return json;
}

function copyList(list: unknown[], copying: Copying): JsonValue[] {
  const json: JsonValue[] = [];
  for (let index = 0; index < list.length; index += 1) {
    json.push(copyChild(index, list[index], copying));
  }
  if (Object.keys(list).length > list.length) {
    throw refusal(copying, notJson('a list with more than items'));
  }
  return json;
}

function copyMembers(value: object, copying: Copying): JsonObject {
  if (!isPlain(value)) {
    throw refusal(copying, notJson(withArticle(className(value))));
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw refusal(copying, notJson('a symbol as a key'));
  }
  const members: Array<[string, JsonValue]> = [];
  for (const [key, child] of Object.entries(value)) {
    if (child !== undefined) {
      members.push([key, copyChild(key, child, copying)]);
    }
  }
  // Not by assignment, which would take a key __proto__ for the prototype.
  return Object.fromEntries(members);
}

function copyChild(
  key: string | number,
  child: unknown,
  copying: Copying,
): JsonValue {
  copying.path.push(key);
  // With a comma, and a value of one unit or two brackets.
  count(copying, 2);
  if (typeof key === 'string') {
    count(copying, key.length + 3);
    refuseUnstorable(key, copying);
  }
  const json = copy(child, copying);
  copying.path.pop();
  return json;
}

/** Stops early: an object that is there many times over has a copy for each. */
function count(copying: Copying, units: number): void {
  copying.units += units;
  if (copying.units > MAX_BYTES) {
    throw new Error(TOO_LARGE);
  }
}

function refuseUnstorable(text: string, copying: Copying): void {
  if (UNSTORABLE.test(text)) {
    throw refusal(
      copying,
      'it holds a NUL character, or half of a surrogate pair',
    );
  }
}

/** Of whichever realm: Object.prototype has no prototype, and others have one. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function className(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && /^\w{1,60}$/.test(name) ? name : 'object';
}

function withArticle(noun: string): string {
  return noun === 'undefined'
    ? noun
    : `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`;
}

function notJson(what: string): string {
  return `${what}, expected what JSON has: a text, a finite number, true, false, null, a list or a plain object`;
}

function refusal({ path }: Copying, problem: string): Error {
  const place = formatPath(path);
  return new Error(place ? `${place}: ${problem}` : problem);
}

function formatPath(path: Array<string | number>): string {
  const text = path.reduce<string>((parent, key) => {
    if (typeof key === 'number') {
      return `${parent}[${key}]`;
    }
    if (!/^[\w$-]{1,60}$/.test(key)) {
      const shown = key.slice(0, LONGEST_KEY);
      return `${parent}[${JSON.stringify(shown)}${shown === key ? '' : '…'}]`;
    }
    return parent ? `${parent}.${key}` : key;
  }, '');
  return text.length > LONGEST_PATH ? `${text.slice(0, LONGEST_PATH)}…` : text;
}

function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join()}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.keys(value)
      .sort()
      .map(key => `${JSON.stringify(key)}:${canonical(value[key])}`);
    return `{${members.join()}}`;
  }
  return JSON.stringify(value);
}
