import { assertPreflight, runPreflight } from '../../preflight';
import type { PreflightOptions } from '../../preflight';
import type { Invocation } from '../CommandDefinition';
import type { CommandOptions } from '../options/CommandOptions';

export function preflightOptionsOf(options: CommandOptions): PreflightOptions {
  return {
    allowMissing: options.allowMissing ?? [],
    backupCompleted: options.backupCompleted ?? false,
    freeDiskBytes: options.freeDisk,
  };
}

/**
 * The preflight before a command that begins a migration. A dry run changes
 * nothing that could go wrong, so that it only tells.
 *
 * @throws {@link RefusedError} if anything has to be put right first
 */
export async function checkFirst(invocation: Invocation): Promise<void> {
  const { migration, options, reporter, report } = invocation;
  const findings = await runPreflight(
    migration.context,
    preflightOptionsOf(options),
  );
  report({ findings });
  for (const { check, level, message, advice, sql } of findings) {
    if (level === 'warning' || (level === 'failure' && options.dryRun)) {
      const words = [message, advice, sql?.replace(/\n/g, ' ')];
      reporter.warn(`${check}: ${words.filter(Boolean).join(' ')}`);
    }
  }
  if (!options.dryRun) {
    assertPreflight(findings);
  }
}
