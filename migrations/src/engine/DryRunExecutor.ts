import { longestRequest } from '../session/lockRetries';
import { MigrationSession } from '../session/MigrationSession';
import { SET_OWNER_ROLE } from '../session/ownerRole';
import { formatThings } from '../text';
import { lockStatements } from './Executor';
import type { BriefTransaction, StepExecutor, Work } from './Executor';
import type { MigrationSettings, Step } from './Step';

/** An entry of a script's outline. */
interface OutlineEntry {
  text: string;
  /** The line of the script at which it begins. */
  line: number;
  /** Whether it is a step, or something within one. */
  isStep: boolean;
}

type ScriptSettings = Pick<
  MigrationSettings,
  'schema' | 'lockTimeoutMs' | 'maxPauseMs'
>;

const OUTLINE_WIDTH = 110;

/**
 * Prints the statements of steps, each followed by an empty line. It reads in a READ ONLY
 * transaction, in which PostgreSQL refuses writes.
 */
export class DryRunExecutor implements StepExecutor {
  static async create(
    session: MigrationSession,
    settings: ScriptSettings,
    print: (text: string) => void,
    actsAsOwner: boolean,
  ): Promise<DryRunExecutor> {
    await session.query('begin transaction read only');
    return new DryRunExecutor(session, settings, print, actsAsOwner);
  }

  readonly dryRun = true;

  private hasPrinted = false;
  /** The line that is printed next. */
  private line = 1;
  private statements = 0;
  /** The script to print after the outline, while an outline is being made. */
  private script?: { text: string; outline: OutlineEntry[] };

  private constructor(
    private readonly session: MigrationSession,
    private readonly settings: ScriptSettings,
    private readonly print: (text: string) => void,
    private readonly actsAsOwner: boolean,
  ) {}

  read<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
    return this.session.query<Row>(sql, values);
  }

  async execute(statement: string): Promise<void> {
    this.printStatement(statement);
  }

  async transaction(transaction: BriefTransaction): Promise<void> {
    const { title, locks, statements } = transaction;
    this.comment(`${title}. ${locks}`);
    this.printStatement('begin');
    lockStatements(transaction, longestRequest(this.settings)).forEach(
      statement => this.printStatement(statement),
    );
    statements.forEach(statement => this.printStatement(statement));
    this.printStatement('commit');
  }

  async work({ title, script }: Work): Promise<void> {
    this.comment(title);
    script.forEach(statement => this.printStatement(statement));
  }

  /**
   * Prints the output of `print` after an outline with the lines at which its steps begin: a
   * script may have thousands. If `print` fails, nothing is printed.
   */
  async outlined(title: string, print: () => Promise<void>): Promise<void> {
    const [line, statements] = [this.line, this.statements];
    const script = { text: '', outline: [] as OutlineEntry[] };
    this.script = script;
    try {
      await print();
    } finally {
      this.script = undefined;
      this.line = line;
    }
    const count = this.statements - statements;
    if (count > 0) {
      this.emit(renderOutline(title, count, script.outline));
      this.emit(script.text);
    }
  }

  announce({ name, title }: Step, direction: 'up' | 'down' | 'begun'): void {
    const text = {
      up: `${name}: ${title}`,
      down: `Undo ${name}: ${title}`,
      begun: `${name} has not been done: ${title}`,
    }[direction];
    this.comment(`Step ${text}`, { text, isStep: true });
  }

  private comment(
    text: string,
    entry: Omit<OutlineEntry, 'line'> = { text, isStep: false },
  ): void {
    this.printPreamble();
    this.script?.outline.push({ ...entry, line: this.line });
    this.emit(`${text.replace(/^/gm, '-- ')}\n`);
  }

  private emit(text: string): void {
    this.line += text.split('\n').length - 1;
    if (this.script) {
      this.script.text += text;
    } else {
      this.print(text);
    }
  }

  private printStatement(statement: string): void {
    this.printPreamble();
    // Readers of the script split it at empty lines.
    this.statements += 1;
    this.emit(`${statement.trim().replace(/\n\s*\n/g, '\n')};\n\n`);
  }

  /** The script's session needs the settings of a MigrationSession. */
  private printPreamble(): void {
    if (!this.hasPrinted) {
      this.hasPrinted = true;
      this.printStatement(MigrationSession.settings(this.settings.schema));
      if (this.actsAsOwner) {
        this.printStatement(SET_OWNER_ROLE);
      }
    }
  }
}

function renderOutline(
  title: string,
  statements: number,
  outline: OutlineEntry[],
): string {
  const head = [
    `${title}: ${formatThings(
      statements,
      'statement',
    )}, of which none was run.`,
    'Line  What begins there',
  ];
  // Behind the head and the outline itself, with an empty line after each.
  const offset = head.length + outline.length + 2;
  const lines = outline.map(({ text, line, isStep }) => {
    const indented = isStep ? text : `  ${text}`;
    return `${String(line + offset).padStart(4)}  ${shorten(indented)}`;
  });
  return `${[...head, '', ...lines, '']
    .map(each => `-- ${each}`.trimEnd())
    .join('\n')}\n`;
}

function shorten(text: string): string {
  const [first] = text.split('\n');
  return first.length > OUTLINE_WIDTH
    ? `${first.slice(0, OUTLINE_WIDTH).replace(/\s+\S*$/, '')} …`
    : first;
}
