import { escapeIdentifier, escapeLiteral } from '../sql';

// PostgreSQL refuses an UPDATE or DELETE of a table that a publication has, be it as
// one of all tables, and whose rows it can not name to the subscribers: a new
// partition has no primary key yet.

/** The statement that names the rows of a new partition by all their columns. */
export function identifyByAllColumns(partition: string): string {
  return `alter table ${escapeIdentifier(partition)} replica identity full`;
}

/**
 * The statement that names them by the primary key, once there is one, if those of
 * the table are.
 */
export function identifyLike(table: string, partition: string): string {
  const oid = (name: string) =>
    `to_regclass(${escapeLiteral(escapeIdentifier(name))})`;
  return `do $$ begin
  if exists (select from pg_class where oid = ${oid(
    table,
  )} and relreplident = 'd')
     and exists (select from pg_index where indrelid = ${oid(
       partition,
     )} and indisprimary) then
    alter table ${escapeIdentifier(partition)} replica identity default;
  end if;
end $$`;
}
