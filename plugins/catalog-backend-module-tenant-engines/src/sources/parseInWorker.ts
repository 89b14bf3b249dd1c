/**
 * The code of a thread that parses. It is a text, since a package that is built has no file of
 * its own for a thread.
 *
 * Values are counted three times, each before it costs: tokens before there is a tree, documents
 * before they are turned into values, and values with what aliases repeat before there is a text
 * of them.
 */
export const PARSE_IN_WORKER = `
const { parentPort, workerData } = require('node:worker_threads');
const { Lexer, parseAllDocuments } = require(workerData.yaml);

class Beyond extends Error {
  constructor(bound) { super(bound); this.bound = bound; }
}

// The first characters of tokens that begin a value; the lexer of yaml puts \\x1f before a
// scalar.
const BEGINS = new Set(['\\x1f', '[', '{', '-', '?', '|', '>', '"', "'", '*']);

// Those of tokens that begin none: each value has a few at most, and thousands at one of them take
// the parser the square of their time.
const OTHERS = new Set([':', ',', '&', '!', '%']);
const OTHERS_PER_VALUE = 2;

function count(text, { maxEntities, maxValues, maxDepth }) {
  let values = 0;
  let others = 0;
  let depth = 0;
  let documents = 0;
  for (const token of new Lexer().lex(text)) {
    const first = token[0];
    if (BEGINS.has(first) && ++values > maxValues) throw new Beyond('maxValues');
    if (OTHERS.has(first) && ++others > OTHERS_PER_VALUE * maxValues) throw new Beyond('maxValues');
    if ((first === '[' || first === '{') && ++depth > maxDepth) throw new Beyond('maxDepth');
    if (first === ']' || first === '}') depth = Math.max(0, depth - 1);
    if (token === '---') {
      values = 0;
      others = 0;
      if (++documents > maxEntities) throw new Beyond('maxEntities');
    }
  }
}

function measurer({ maxValues, maxDepth, maxCharacters }) {
  let values = 0;
  let characters = 0;
  return function measure(value, depth) {
    if (++values > maxValues) throw new Beyond('maxValues');
    if (depth > maxDepth) throw new Beyond('maxDepth');
    if (typeof value === 'string') {
      characters += value.length;
      if (characters > maxCharacters) throw new Beyond('maxValues');
    } else if (Array.isArray(value)) {
      for (const item of value) measure(item, depth + 1);
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        characters += key.length;
        measure(value[key], depth + 1);
      }
    }
  };
}

function parseJson(text, bounds) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { error: String(error).slice(0, 2000) };
  }
  measurer(bounds)(value, 0);
  return { json: JSON.stringify(value) };
}

function parseYaml(text, bounds) {
  count(text, bounds);
  const documents = parseAllDocuments(text, { merge: false }).filter(d => d);
  if (documents.length > bounds.maxEntities) throw new Beyond('maxEntities');
  return documents.map(document => {
    if (document.errors.length > 0) {
      return { error: String(document.errors[0]).slice(0, 2000) };
    }
    const value = document.toJSON();
    measurer(bounds)(value, 0);
    return { json: JSON.stringify(value) ?? 'null' };
  });
}

parentPort.on('message', ({ text, format, bounds }) => {
  let answer;
  try {
    answer = {
      documents: format === 'json' ? [parseJson(text, bounds)] : parseYaml(text, bounds),
    };
  } catch (error) {
    if (error instanceof Beyond) answer = { beyond: error.bound };
    // Too many levels for the stack.
    else if (error instanceof RangeError) answer = { beyond: 'maxDepth' };
    else answer = { failure: String(error).slice(0, 2000) };
  }
  parentPort.postMessage(answer);
});
`;
