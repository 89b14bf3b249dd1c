import { examineRows, readRowRules } from '../../checks/rows';
import type { RowRule } from '../../checks/rows';
import { RefusedError } from '../../errors';
import type { StepContext } from '../../engine/Step';
import {
  DEFAULT_TENANT_ID,
  ENTITY_KEY,
  TENANT_TABLES,
} from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/**
 * Refuses the phase while rows violate the constraints of the partitioned tables.
 *
 * Each of these rules becomes a constraint of the tables in use, so that the copy of
 * phase 5 cannot fail on a row written later.
 *
 * @throws {@link RefusedError} with the number and some examples for each rule
 */
export async function checkRules({ executor }: StepContext): Promise<void> {
  const complaints: string[] = [];
  for (const rule of [
    ...TENANT_TABLES.map(ofOtherTenants),
    ...(await readRowRules(executor)),
  ]) {
    const broken = await examineRows(executor, rule);
    if (broken) {
      complaints.push(
        `- ${broken.message}\n${broken.sql.replace(/^/gm, '    ')}`,
      );
    }
  }
  if (complaints.length > 0) {
    throw new RefusedError(
      `Correct or delete these rows, and run the command again:\n${complaints.join(
        '\n',
      )}`,
    );
  }
}

/** Before the swap there is one tenant only (specification, migration phases). */
function ofOtherTenants(table: TenantTable): RowRule {
  const broken = `from ${table} t where t.tenant_id <> '${DEFAULT_TENANT_ID}'`;
  return {
    broken,
    example: `coalesce(t.${ENTITY_KEY[table]}::text, 'null')`,
    message: `of ${table} of other tenants than the default one`,
    advice: 'There is room for them after phase 5.',
    fix: [`select t.* ${broken}`],
  };
}
