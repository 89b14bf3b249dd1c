import { Client, escapeLiteral } from 'pg';

const { prepareValue } = require('pg/lib/utils') as {
  prepareValue(value: unknown): string | null;
};

type Query = string | { text: string; values?: unknown[] };

/** The SQL that all connections of this process send during the work, with the values in it. */
export async function recordStatements(
  work: () => Promise<unknown>,
): Promise<string> {
  const statements: string[] = [];
  const query = Client.prototype.query as (...args: unknown[]) => unknown;
  const spy = jest.spyOn(Client.prototype, 'query');
  spy.mockImplementation(function record(this: Client, ...args: unknown[]) {
    const [first, second] = args as [Query, unknown];
    const { text, values = Array.isArray(second) ? second : [] } =
      typeof first === 'string' ? { text: first } : first;
    statements.push(
      text.replace(/\$(\d+)\b/g, (whole, nr) =>
        values.length > 0 ? literalOf(values[Number(nr) - 1]) : whole,
      ),
    );
    return query.apply(this, args);
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return statements.join(';\n');
}

function literalOf(value: unknown): string {
  const text = prepareValue(value);
  return text === null ? 'null' : escapeLiteral(text);
}
