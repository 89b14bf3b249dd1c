import { lockStatements } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import type { Executor } from './Executor';

// psql ends at \quit, and other clients fail: batches that are missing would be lost rows.
const HEAD = `-- What the command would run, to be read: a batch stands here once.
\\quit
`;

/** Prints the head before the first text: a command that is refused prints nothing. */
export function printWithHead(
  print: (text: string) => void,
): (text: string) => void {
  let isBegun = false;
  return text => {
    print(isBegun ? text : `${HEAD}\n${text}`);
    isBegun = true;
  };
}

/** Prints text as a comment of SQL. */
export function asComment(text: string): string {
  return text.replace(/^/gm, '-- ');
}

/**
 * Prints what changes something in place of running it. Each read is a transaction of its own,
 * READ ONLY, so that PostgreSQL refuses writes and no lock or snapshot is held in between.
 */
export function dryRunExecutor(
  session: MigrationSession,
  { maxPauseMs }: { maxPauseMs: number },
  print: (text: string) => void,
): Executor {
  const printAll = (title: string, statements: string[]) =>
    print(
      [
        asComment(title),
        ...statements.map(each => `${each.trim().replace(/\n\s*\n/g, '\n')};`),
        '',
      ].join('\n'),
    );
  return {
    dryRun: true,
    session,
    read: (sql, values) =>
      session.transaction('begin transaction read only', () =>
        session.query(sql, values),
      ),
    async execute(statement) {
      print(`${statement.trim()};\n`);
    },
    async transaction(transaction) {
      const { title, locks, statements } = transaction;
      printAll(`${title}. ${locks}`, [
        'begin',
        ...lockStatements(transaction, maxPauseMs),
        ...statements,
        'commit',
      ]);
    },
    async work({ title, script }) {
      printAll(title, script);
    },
  };
}
