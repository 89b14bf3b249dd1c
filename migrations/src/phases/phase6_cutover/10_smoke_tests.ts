import { randomBytes } from 'node:crypto';
import type { Step, StepContext } from '../../engine/Step';
import { RefusedError, VerificationError } from '../../errors';
import { escapeLiteral } from '../../sql';
import { addressOf } from './address';
import type { Address } from './address';
import { compareEntities } from './compareEntities';
import { judgeLookup, timeLookup } from './entityLookup';
import { HttpClient } from './HttpClient';
import { TenantApplication } from './TenantApplication';
import {
  explainInvalidTenant,
  explainUnknownResolves,
  isActiveTenant,
} from './tenantResolution';

/** The state key of the last success: when, against which address, with which outcomes. */
const SMOKE_TESTS = 'smoke_tests';

/** The state key of the slug of a tenant that has to be deleted. */
const SMOKE_TENANT = 'smoke_test_tenant';

// Enough to see that the list is not empty.
const FEW = 5;

/**
 * Checks by requests to the application that multi-tenancy is active. It changes no table:
 * the cutover itself is the flag, which the operator sets.
 */
export const smokeTests: Step = {
  name: '6_10_smoke_tests',
  title: 'Run the smoke tests against the application',

  async up(context) {
    const address = addressOf(context.settings);
    await context.executor.work({
      title: describeRequests(address),
      script: [],
      run: () => runSmokeTests(context, address),
    });
  },

  async down(context) {
    const { executor, state } = context;
    const slug = await state.get<string>(SMOKE_TENANT);
    if (slug !== undefined && (await isActiveTenant(executor, slug))) {
      warnOfTenant(context, slug, 'its deletion is not part of the undo.');
    }
    await executor.execute(state.forget(SMOKE_TENANT));
    await executor.execute(state.forget(SMOKE_TESTS));
  },
};

/** The output of a dry run: the requests, which are not SQL. */
function describeRequests({ baseUrl }: Address): string {
  const list = `GET ${baseUrl}/api/catalog/entities with X-Tenant-Slug`;
  return [
    'The smoke tests are requests to the application. Send them by hand, and run',
    'what follows only if all of them succeed.',
    `(1) ${list}: default lists the existing entities.`,
    `(2) POST ${baseUrl}/api/tenants with {"tenant_slug":"smoke-test","tenant_name":"Smoke test","engine":false} creates a tenant.`,
    `(3) ${list}: smoke-test lists nothing, "[]".`,
    `DELETE ${baseUrl}/api/tenants/smoke-test deletes that tenant again.`,
  ].join('\n');
}

/**
 * Runs the smoke tests of the specification (migration phases, phase 6): sends requests to
 * the application, and compares its answers with the database.
 *
 * @throws {@link RefusedError} if the application is not ready for the tests
 * @throws {@link VerificationError} if one of them fails
 */
async function runSmokeTests(
  context: StepContext,
  address: Address,
): Promise<void> {
  const { executor, state, reporter } = context;
  const application = new TenantApplication(
    new HttpClient({
      address,
      onWaiting: (what, attempts) => {
        // The 1st, 2nd, 4th, 8th …: the application may take a while to start.
        if (Number.isInteger(Math.log2(attempts))) {
          reporter.info(
            `Waiting for the application: ${what} (attempt ${attempts})`,
          );
        }
      },
    }),
    slug => explainInvalidTenant(executor, address, slug),
  );
  const results: { test: string; outcome: string }[] = [];
  const passed = (test: string, outcome: string) => {
    results.push({ test, outcome });
    reporter.info(`${test}: ${outcome}`);
  };
  // A killed command may have left its tenant.
  await deleteSmokeTenant(context, application);

  // With the flag off, every slug resolves to the default tenant.
  if (await application.resolves(randomSlug())) {
    throw new RefusedError(await explainUnknownResolves(executor, address));
  }
  passed('Multi-tenancy is on', 'a slug that no tenant has is refused.');

  const { live, compared } = await compareEntities(application, executor);
  if (live === 0) {
    reporter.warn(
      'The default tenant has no live entities, so their list shows nothing.',
    );
  }
  passed(
    '(1) The default tenant has the existing entities',
    `${compared} of ${live} live entities compared with the database.`,
  );

  // Recorded before it is created, so that a killed command's tenant is deleted later.
  const slug = randomSlug();
  await executor.execute(state.put(SMOKE_TENANT, slug));
  try {
    await application.createTenant(slug);
    if (!(await isActiveTenant(executor, slug))) {
      throw new VerificationError(
        `The application answered that the tenant "${slug}" is created, and the ` +
          'table tenants does not have it: the application uses another database ' +
          'or schema than this command, where that tenant now has to be deleted.',
      );
    }
    passed('(2) A new tenant can be created', `"${slug}" is created.`);
    const refs = await application.listEntities(slug, FEW, 0);
    if (refs.length > 0) {
      throw new VerificationError(
        `The tenant "${slug}" was created just now, and the application lists ` +
          `entities for it, such as ${refs[0]}. An instance of it runs without ` +
          'MULTI_TENANCY_ENABLED=true, or tenants see what is not theirs: set the ' +
          'flag to false until that is clear.',
      );
    }
    passed('(3) The new tenant has no entities', 'none are listed.');
  } finally {
    await deleteSmokeTenant(context, application);
  }

  const lookupMilliseconds = await timeLookup(executor);
  if (lookupMilliseconds !== undefined) {
    const { slow, message } = judgeLookup(lookupMilliseconds);
    reporter[slow ? 'warn' : 'info'](message);
  }
  await executor.execute(
    state.put(SMOKE_TESTS, {
      at: new Date().toISOString(),
      baseUrl: address.baseUrl,
      results,
      lookupMilliseconds: lookupMilliseconds ?? null,
    }),
  );
}

/** A slug that no tenant has. */
function randomSlug(): string {
  return `smoke-test-${randomBytes(6).toString('hex')}`;
}

/**
 * Deletes the recorded tenant: the application, which only marks it, and then its row. If that fails, a warning says how to delete it; the smoke
 * tests do not fail for it.
 */
async function deleteSmokeTenant(
  context: StepContext,
  application: TenantApplication,
): Promise<void> {
  const { executor, state } = context;
  const slug = await state.get<string>(SMOKE_TENANT);
  if (slug === undefined) {
    return;
  }
  if (await isActiveTenant(executor, slug)) {
    const reason = await application.deleteTenant(slug).then(
      () => 'the application answered that it is deleted, and it is not.',
      error => (error as Error).message,
    );
    if (await isActiveTenant(executor, slug)) {
      warnOfTenant(context, slug, reason);
      return;
    }
  }
  // It locks that row, which nothing refers to, for the statement.
  await executor
    .execute(
      `delete from tenants where tenant_slug = ${escapeLiteral(
        slug,
      )} and deleted_at is not null`,
    )
    .catch(error => warnOfTenant(context, slug, (error as Error).message));
  await executor.execute(state.forget(SMOKE_TENANT));
}

function warnOfTenant(
  { reporter, settings }: StepContext,
  slug: string,
  reason: string,
): void {
  reporter.warn(
    `The tenant "${slug}" of the smoke tests stays: ${reason}\n` +
      'It holds nothing. Delete it through the application:\n' +
      `  DELETE ${
        settings.cutover?.baseUrl ?? '<base URL>'
      }/api/tenants/${slug}\n` +
      'or in the database:\n' +
      `  delete from tenants where tenant_slug = ${escapeLiteral(slug)};`,
  );
}
