import type { ClientConfig } from 'pg';

/**
 * One version of the application: how it logs in, and whether it knows of
 * tenants. The old one has never heard of them; the new one sets the context of
 * each transaction, and names the tenant in every statement.
 */
export interface Application {
  name: 'old' | 'new';
  login: ClientConfig;
  tenantId?: string;
}

/** A statement, with `{scope}` where a condition on the tenant belongs. */
export interface Statement {
  text: string;
  values: unknown[];
}

/** The statement as the application sends it. */
export function scoped(
  { tenantId }: Application,
  { text, values }: Statement,
): Statement {
  if (tenantId === undefined || !text.includes('{scope}')) {
    return { text: text.replace('{scope}', ''), values };
  }
  return {
    text: text.replace('{scope}', `and tenant_id = $${values.length + 1}`),
    values: [...values, tenantId],
  };
}

/** An INSERT of rows that have the same columns. */
export function insertStatement(
  { tenantId }: Application,
  table: string,
  rows: Readonly<Record<string, unknown>>[],
): Statement {
  const columns = Object.keys(rows[0]);
  const values: unknown[] = [];
  const lists = rows.map(row => {
    const own = columns.map(column => row[column]);
    const all = tenantId === undefined ? own : [tenantId, ...own];
    return `(${all.map(value => `$${values.push(value)}`).join(', ')})`;
  });
  const names = tenantId === undefined ? columns : ['tenant_id', ...columns];
  return {
    text: `insert into ${table} (${names.join(', ')}) values ${lists.join(
      ', ',
    )}`,
    values,
  };
}
