import type { StepContext } from '../engine/Step';
import type { PreflightFacts } from './facts';
import type { Outcome } from './Finding';

/**
 * What the operator tells the preflight.
 *
 * @public
 */
export interface PreflightOptions {
  /** Extensions that may be missing: `pg_cron` is the only one that can be. */
  allowMissing: string[];
  /** Whether the operator has confirmed that a backup was completed. */
  backupCompleted: boolean;
  /** Free space for the copy, where it can't be measured from here. */
  freeDiskBytes?: number;
  /** From which age on a transaction counts as long; 60 by default. */
  longTransactionSeconds?: number;
}

/** What a check works with. */
export interface PreflightContext extends StepContext {
  readonly options: PreflightOptions;
  readonly facts: PreflightFacts;
}

/** One thing that has to hold before a migration begins. */
export interface PreflightCheck {
  name: string;
  /**
   * What it looks at: the server, and so always; the tables as they are before
   * phase 5 has swapped them; or their rows, which the login must be able to read.
   */
  scope: 'server' | 'tables' | 'rows';
  /** Only reads, and needs no rights beyond those that its scope asks for. */
  run(context: PreflightContext): Promise<Outcome[]>;
}
