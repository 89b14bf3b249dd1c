/**
 * `warning` is for the operator to know, `failure` has to be put right first.
 *
 * @public
 */
export type FindingLevel = 'ok' | 'warning' | 'failure';

/**
 * What one check of the preflight has found.
 *
 * @public
 */
export interface Finding {
  /** The name of the check: `free disk`. */
  check: string;
  level: FindingLevel;
  message: string;
  /** What to do about it. */
  advice?: string;
  /** Statements that put it right, or that show more of it. */
  sql?: string;
  /** What was found, one by one; for `--json`. */
  details?: unknown[];
}

/** A finding, before it is known which check it is of. */
export type Outcome = Omit<Finding, 'check'>;

type More = Omit<Outcome, 'level' | 'message'>;

export function ok(message: string, more: More = {}): Outcome {
  return { level: 'ok', message, ...more };
}

export function warning(message: string, more: More = {}): Outcome {
  return { level: 'warning', message, ...more };
}

export function failure(message: string, more: More = {}): Outcome {
  return { level: 'failure', message, ...more };
}
