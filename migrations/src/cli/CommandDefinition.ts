import type { Option } from 'commander';
import type { ClientConfig } from 'pg';
import type { MigrationSettings } from '../engine/Step';
import type { Reporter } from '../Reporter';
import type { OperatorCommandName } from '../operatorCommand';
import type { TenancyMigration } from '../engine/TenancyMigration';
import type { CommandOptions } from './options/CommandOptions';
import type { StepTracker } from './StepTracker';

/** One run of a command. */
export interface Invocation {
  migration: TenancyMigration;
  connection: ClientConfig;
  settings: MigrationSettings;
  options: CommandOptions;
  /** What follows the name of the command, such as a slug. */
  args: string[];
  reporter: Reporter;
  /** Which steps were done, or undone, since the command began. */
  steps: StepTracker;
  /** Adds to the JSON document, also if the command fails after that. */
  report(fields: Record<string, unknown>): void;
  /**
   * Shows the operator what is about to be deleted, and asks whether to go on. With
   * `--yes` it does not ask, and a dry run only shows it.
   *
   * @throws {@link RefusedError} unless the answer is yes, and where there is no
   *   terminal to ask on
   */
  confirm(losses: string[]): Promise<void>;
  /** Prints what an operator gets to see also if the command fails after that. */
  print(text: string): void;
}

/** A command of the operator. */
export interface CommandDefinition {
  name: OperatorCommandName;
  /** As commander has them: `<slug>`. */
  arguments?: string;
  description: string;
  /** More of it, at the end of its help. */
  details?: string;
  /** Whether it changes the database, and so needs the operator's lock. */
  access: 'change' | 'read';
  /** Those that not every command takes. */
  options: Option[];
  /** @returns the summary for the operator */
  run(invocation: Invocation): Promise<string>;
}
