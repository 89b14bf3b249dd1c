import { runInNewContext } from 'node:vm';

/**
 * Whether `JSON.parse` takes an escaped key for another one that has a backslash, which V8 does
 * in Node.js 24 (https://github.com/nodejs/node/issues/63785). A context of its own, because V8
 * remembers keys for each.
 */
const LOSES_ESCAPED_KEYS: boolean = runInNewContext(`
  JSON.parse('{"h":[],"\\\\\\\\":0}');
  Object.keys(JSON.parse('{"h":1,"\\\\"":2}'))[1] !== '"'`);

/**
 * Whether keys of objects survive `JSON.parse` beside any other such key. Everywhere else, and
 * for these, what comes back has to be what was sent.
 */
export function isSafeKey(key: string): boolean {
  return !LOSES_ESCAPED_KEYS || !key.includes('\\');
}
