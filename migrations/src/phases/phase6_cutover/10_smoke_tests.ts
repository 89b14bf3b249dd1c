import type { Step, StepContext } from '../../engine/Step';
import { addressOf } from './address';
import type { Address } from './address';
import { asCurl } from './curl';
import { HttpClient } from './HttpClient';
import {
  deleteSmokeTenant,
  forgetSmokeTenant,
  randomSlug,
} from './smokeTenant';
import { SmokeTests } from './smokeTests';
import { pageQuery, requests, TenantApplication } from './TenantApplication';
import { explainInvalidTenant } from './tenantResolution';

/** When the smoke tests succeeded, against what, and how long they took. */
export const SMOKE_TESTS = 'smoke_tests';

const PAGE = 100;

/**
 * Checks through the application that multi-tenancy is active. The tables stay as
 * they are: the cutover itself is the flag, which the operator sets.
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
    await forgetSmokeTenant(context);
    await executor.execute(state.forget(SMOKE_TESTS));
  },
};

async function runSmokeTests(
  context: StepContext,
  address: Address,
): Promise<void> {
  const { executor, state, reporter } = context;
  const application = new TenantApplication(
    new HttpClient({
      address,
      onWaiting: (what, attempts) => {
        // The 1st, 2nd, 4th, 8th …: it may take a while to start.
        if (Number.isInteger(Math.log2(attempts))) {
          reporter.info(
            `Waiting for the application: ${what} (attempt ${attempts})`,
          );
        }
      },
    }),
    slug => explainInvalidTenant(executor, address, slug),
  );
  // Of a command that was killed.
  await deleteSmokeTenant(context, application);
  const tests = new SmokeTests(context, address, application);
  const results = await tests.run();
  const lookup = await tests.showLookup();
  await executor.execute(
    state.put(SMOKE_TESTS, {
      at: new Date().toISOString(),
      baseUrl: address.baseUrl,
      results,
      lookupMilliseconds: lookup ?? null,
    }),
  );
}

/** What a dry run prints: none of it is SQL. */
function describeRequests(address: Address): string {
  const slug = randomSlug();
  const curl = (request: Parameters<typeof asCurl>[1]) =>
    asCurl(address, request);
  return [
    'The smoke tests are requests to the application. Run them by hand, and what',
    'follows only if all of them succeed.',
    '(1) Lists the existing entities, page by page:',
    curl(requests.listEntities('default', pageQuery(PAGE, 0))),
    '(2) Creates a tenant:',
    curl(requests.createTenant(slug)),
    '(3) Lists nothing, "[]":',
    curl(requests.listEntities(slug, pageQuery(PAGE, 0))),
    'Deletes that tenant again:',
    curl(requests.deleteTenant(slug)),
  ].join('\n');
}
