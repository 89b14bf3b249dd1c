import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '@backstage/types';

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
export function toJson(value: object): JsonObject {
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
export function stableHash(entity: JsonObject): string {
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
