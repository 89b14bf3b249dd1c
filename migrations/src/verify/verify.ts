import type { TenancyMigration } from '../engine/TenancyMigration';
import { VerificationError } from '../errors';
import type { Check } from './Check';
import { adoption } from './checks/adoption';
import { copies } from './checks/copies';
import { isolation } from './checks/isolation';
import { layout } from './checks/layout';
import { rows } from './checks/rows';
import { searchTerms } from './checks/searchTerms';
import { tenantContext } from './checks/tenantContext';

const CHECKS: Check[] = [
  rows,
  isolation,
  tenantContext,
  copies,
  layout,
  searchTerms,
  adoption,
];

/** The outcome of one check. */
export interface VerifiedCheck {
  name: string;
  /** What is wrong, a sentence for each. */
  problems: string[];
}

export interface VerificationReport {
  /** The last phase that is complete. */
  phase: number;
  checks: VerifiedCheck[];
}

/**
 * Checks everything that must hold after the phases that are complete, on the data
 * itself. It changes nothing and can run while the application writes.
 */
export async function verify(
  migration: TenancyMigration,
): Promise<VerificationReport> {
  const phase = await migration.completedPhase();
  const checks: VerifiedCheck[] = [];
  for (const { name, from, examine } of CHECKS) {
    if (from <= phase) {
      migration.context.reporter.info(`Check that ${name}`);
      checks.push({ name, problems: await examine(migration.context) });
    }
  }
  return { phase, checks };
}

/** @throws {@link VerificationError} with every problem that was found */
export function assertVerified({ checks }: VerificationReport): void {
  const problems = checks.flatMap(check => check.problems);
  if (problems.length > 0) {
    throw new VerificationError(problems.join('\n'));
  }
}
