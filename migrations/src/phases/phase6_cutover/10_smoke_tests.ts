import { randomBytes } from 'node:crypto';
import { findTenantSchemas } from '../../adopt/engine';
import { asLogin } from '../../adopt/rights';
import { unadopt } from '../../adopt/unadopt';
import type { Step, StepContext } from '../../engine/Step';
import { RefusedError, VerificationError } from '../../errors';
import { dropSchemas } from '../../rollback/tenantSchemas';
import { identifyOldRows } from '../../schema/partitions';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  LEASES_TABLE,
} from '../../schema/tables';
import { escapeLiteral } from '../../sql';
import { Application, SMOKE_TENANT } from './Application';

/** The specification's target for a look-up by reference. */
const LOOKUP_TARGET_MS = 20;

const FLAG_IS_OFF =
  'Set MULTI_TENANCY_ENABLED=true (exactly "true"), and restart every instance of the application.';

/**
 * Checks by requests to the application that multi-tenancy is active. It changes no table:
 * the cutover itself is the flag, which the operator sets.
 */
export const smokeTests: Step = {
  name: '6_10_smoke_tests',
  title: 'Run the smoke tests against the application',

  async up(context) {
    const application = new Application(context.settings);
    await context.executor.work({
      title: `Send GET /api/catalog/entities, POST and DELETE /api/tenants to ${application.baseUrl}`,
      script: [],
      run: () => runSmokeTests(context, application),
    });
  },
};

const STOP_PATIENCE_MS = 10_000;
const POLL_MS = 100;

/**
 * Runs the smoke tests of the specification (migration phases, phase 6).
 *
 * @throws {@link RefusedError} if the application is not ready for the tests
 * @throws {@link VerificationError} if one of them fails
 */
async function runSmokeTests(
  context: StepContext,
  application: Application,
): Promise<void> {
  // A killed command may have left its tenant.
  await deleteSmokeTenants(context, application);
  await testDefaultTenant(context, application);

  const slug = `smoke-test-${randomBytes(6).toString('hex')}`;
  // With the flag off, every slug resolves to the default tenant.
  if ((await application.listEntities(slug)) !== undefined) {
    throw new RefusedError(
      `The application answers for a tenant that does not exist. ${FLAG_IS_OFF}`,
    );
  }
  try {
    await testNewTenant(context, application, slug);
  } finally {
    await deleteSmokeTenants(context, application);
  }

  const milliseconds = await timeLookup(context);
  if (milliseconds !== undefined) {
    context.reporter[milliseconds < LOOKUP_TARGET_MS ? 'info' : 'warn'](
      `Look-up of an entity by its reference: ${milliseconds.toFixed(2)} ms ` +
        `(expected: under ${LOOKUP_TARGET_MS} ms).`,
    );
  }
}

/** (1) The list of the default tenant has entities of the database. */
async function testDefaultTenant(
  { executor, reporter }: StepContext,
  application: Application,
): Promise<void> {
  const listed = await application.listEntities(DEFAULT_TENANT_SLUG);
  if (!listed) {
    throw new RefusedError(
      `${application.baseUrl} answered "Invalid tenant" to X-Tenant-Slug: default. Give a --base-url and a MIGRATION_TOKEN that name no tenant, and compare the application's database.`,
    );
  }
  const [{ live, known }] = await executor.read<{
    live: boolean;
    known: number;
  }>(
    `select count(*) > 0 as live, count(*) filter (where ref = any ($2))::int as known
       from (select lower(lower(entity_ref collate "C") collate "default") as ref
               from entities where tenant_id = $1 and deleted_at is null) e`,
    [DEFAULT_TENANT_ID, listed],
  );
  // Not all of them: an entity may come or go between the two.
  if (known === 0 && (live || listed.length > 0)) {
    throw new VerificationError(
      `The application lists ${
        listed[0] ?? 'nothing'
      } for the default tenant, and this database has other entities. Compare their databases and schemas, and who owns MIGRATION_TOKEN.`,
    );
  }
  reporter.info(
    `(1) The default tenant has the existing entities: ${known} of them are in the database.`,
  );
}

/** (2) A tenant can be created, and (3) it has no entities. */
async function testNewTenant(
  { reporter }: StepContext,
  application: Application,
  slug: string,
): Promise<void> {
  await application.createTenant(slug);
  reporter.info(`(2) A new tenant can be created: "${slug}" is created.`);
  const listed = await application.listEntities(slug);
  if (listed?.length !== 0) {
    throw new VerificationError(
      `The application lists ${
        listed?.[0] ?? 'no tenant'
      } for the new tenant "${slug}". ${FLAG_IS_OFF}`,
    );
  }
  reporter.info('(3) The new tenant has no entities: none are listed.');
}

/**
 * Deletes the tenants of the smoke tests: the application marks them, and then their rows
 * go. If that fails, a warning says how to delete them, and the next run tries again.
 */
async function deleteSmokeTenants(
  context: StepContext,
  application: Application,
): Promise<void> {
  const { executor, reporter } = context;
  const ofTests = `tenant_slug like 'smoke-test-%' and tenant_name = ${escapeLiteral(
    SMOKE_TENANT,
  )}`;
  const find = () =>
    executor.read<{ tenantId: string; slug: string; isDeleted: boolean }>(
      `select tenant_id::text as "tenantId", tenant_slug as slug,
              deleted_at is not null as "isDeleted"
         from tenants where ${ofTests}`,
    );
  for (const { slug } of await find()) {
    // The warning says it, if that fails.
    await application.deleteTenant(slug).catch(() => undefined);
  }
  for (const tenant of await find()) {
    if (tenant.isDeleted) {
      await removeEngine(context, tenant);
    }
  }
  await identifyOldRows(executor);
  // It locks those rows, which nothing refers to, for the statement.
  await executor.execute(
    `delete from tenants where ${ofTests} and deleted_at is not null`,
  );
  if ((await find()).length > 0) {
    reporter.warn(
      `A tenant of the smoke tests stays, and holds nothing. Delete it: delete from tenants where ${ofTests};`,
    );
  }
}

/** An engine may have started within the tests: its tables go once no process works for it. */
async function removeEngine(
  context: StepContext,
  tenant: { tenantId: string; slug: string },
): Promise<void> {
  const { executor } = context;
  const { session } = executor;
  const end = performance.now() + STOP_PATIENCE_MS;
  const isHeld = async () =>
    (
      await session.query(`select from ${LEASES_TABLE} where tenant_id = $1`, [
        tenant.tenantId,
      ])
    ).length > 0;
  while (performance.now() < end && (await isHeld())) {
    await session.pause(POLL_MS);
  }
  await unadopt(context, tenant);
  const names = await findTenantSchemas(executor, tenant.tenantId);
  await asLogin(context, () => dropSchemas(executor, names));
}

/**
 * Times the application's look-up of an entity in the database, planning included.
 *
 * @returns milliseconds; undefined without an entity
 */
async function timeLookup({
  executor,
}: StepContext): Promise<number | undefined> {
  const [entity] = await executor.read<{ ref: string }>(
    `select entity_ref as ref from entities
      where tenant_id = $1 and deleted_at is null limit 1`,
    [DEFAULT_TENANT_ID],
  );
  const lookUp = async () => {
    const [row] = await executor.read<{
      'QUERY PLAN': [{ 'Planning Time': number; 'Execution Time': number }];
    }>(
      `explain (analyze, format json)
       select final_entity from entities
        where tenant_id = $1 and entity_ref = $2 and deleted_at is null`,
      [DEFAULT_TENANT_ID, entity.ref],
    );
    const [plan] = row['QUERY PLAN'];
    return plan['Planning Time'] + plan['Execution Time'];
  };
  // The first one loads the definitions of the partitions.
  return entity && (await lookUp()) && lookUp();
}
