import type { Reporter } from '../../../Reporter';
import type { MigrationSettings } from '../../../engine/Step';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { phase6 } from '..';

/** What an operator gets to see. */
export interface Told {
  info: string[];
  warn: string[];
  reporter: Reporter;
}

export function listen(): Told {
  const info: string[] = [];
  const warn: string[] = [];
  return {
    info,
    warn,
    reporter: {
      info: message => info.push(message),
      warn: message => warn.push(message),
      waiting: () => undefined,
      progress: () => ({ advance: () => undefined, finish: () => undefined }),
    },
  };
}

/** Runs phase 6, also where it was done before. */
export async function runCutover(
  database: CatalogDatabase,
  cutover: MigrationSettings['cutover'],
  options: { reporter?: Reporter } = {},
): Promise<void> {
  await database.migrate(
    async ({ context }) => {
      await phase6.check?.(context);
      for (const step of phase6.steps) {
        await step.up(context);
      }
    },
    { settings: { cutover }, ...options },
  );
}

/** The tenants besides the default one that are not deleted. */
export async function readTenants({
  client,
}: CatalogDatabase): Promise<string[]> {
  const { rows } = await client.query(
    `select tenant_slug from tenants
      where tenant_slug <> 'default' and deleted_at is null`,
  );
  return rows.map(row => row.tenant_slug);
}
