/**
 * Decides which statements of a nested plugin reach PostgreSQL, before they get a
 * connection. Polls of an idle tenant wait; all other statements pass.
 */
export interface StatementGate {
  /** The kind of poll that a statement is; nothing if it is none. */
  pollOf(sql: string): string | undefined;

  /**
   * Is called before a poll of this kind gets a connection.
   *
   * @returns when the poll may go on: `ask` PostgreSQL, or take it that there are no rows,
   * since the plugin is to stop
   */
  admit(poll: string): Promise<'ask' | 'empty'>;

  /** Is called with the number of rows that a poll of this kind has got. */
  answered(poll: string, rows: number): void;

  /**
   * Is called when a connection is given back that had a statement which was no poll: all that
   * it wrote can be seen by others.
   */
  returned(): void;
}
