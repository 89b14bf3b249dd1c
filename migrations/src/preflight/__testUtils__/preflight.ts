import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { OpenOptions } from '../../engine/TenancyMigration';
import type { MigrationSettings } from '../../engine/Step';
import type { Finding } from '../../checks/Rule';
import { runPreflight } from '../runPreflight';

export interface PreflightRun {
  options?: Partial<Parameters<typeof runPreflight>[1]>;
  settings?: Partial<MigrationSettings>;
  connection?: OpenOptions['connection'];
  mode?: OpenOptions['mode'];
}

/** Runs the preflight as an operator would who has no pg_cron. */
export async function preflight(
  database: CatalogDatabase,
  { options, ...rest }: PreflightRun = {},
): Promise<Finding[]> {
  return database.migrate(
    migration =>
      runPreflight(migration.context, {
        backupCompleted: true,
        ...options,
      }),
    { mode: 'read', ...rest },
  );
}

/** The findings of one level, and of one check if it is named. */
export function findings(
  report: Finding[],
  level: Finding['level'],
  check?: string,
): Finding[] {
  return report.filter(
    finding => finding.level === level && (!check || finding.check === check),
  );
}
