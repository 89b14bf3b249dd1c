import { Client } from 'pg';

// SQL is written out with its values, not with placeholders, wherever it changes
// something: a dry run prints it, and what is printed must run as it stands.

/** A name as SQL, quoted where it has to be. */
export function escapeIdentifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name)
    ? name
    : Client.prototype.escapeIdentifier(name);
}

/** A text as an SQL literal. */
export function escapeLiteral(value: string): string {
  return Client.prototype.escapeLiteral(value);
}
