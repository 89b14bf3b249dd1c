import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { escapeIdentifier, escapeLiteral } from './sql';

const FOLDER = join(
  dirname(require.resolve('backstage-catalog-tenancy-migrations/package.json')),
  'sql',
);

/** The text of a file in the folder `sql`. */
export function readSqlFile(name: string): string {
  return readFileSync(join(FOLDER, `${name}.sql`), 'utf8')
    .trim()
    .replace(/;$/, '');
}

/** The text of a file for a schema, which it names as psql has it. */
export function sqlForSchema(sql: string, schema: string): string {
  return sql
    .replaceAll(':"schema"', () => escapeIdentifier(schema))
    .replaceAll(":'schema'", () => escapeLiteral(schema));
}

/** The functions that a file creates, by their signatures. */
export function functionsIn(sql: string): string[] {
  return [
    ...sql.matchAll(/^create or replace function (\w+)\(([^)]*)\)/gm),
  ].map(([, name, parameters]) => {
    const types = parameters
      .split(',')
      .map(each => each.trim())
      .filter(each => each && !each.startsWith('out '))
      .map(each => each.replace(/^\w+ /, ''));
    return `${name}(${types.join(', ')})`;
  });
}
