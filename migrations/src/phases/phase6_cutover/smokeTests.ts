import type { StepContext } from '../../engine/Step';
import { RefusedError, VerificationError } from '../../errors';
import type { Address } from './address';
import { compareEntities } from './compareEntities';
import { DefaultTenantRefs } from './DefaultTenantRefs';
import { judgeLookup, timeLookup } from './entityLookup';
import { randomSlug, withSmokeTenant } from './smokeTenant';
import type { TenantApplication, Timings } from './TenantApplication';
import { explainUnknownResolves, isActiveTenant } from './tenantResolution';

/** A smoke test that has succeeded. */
export interface SmokeTestResult {
  test: string;
  outcome: string;
  requests: Timings[];
}

// Enough to see that there is something.
const FEW = 5;

/**
 * Runs the smoke tests of the specification (migration phases, phase 6). They go
 * through the application, and the database tells whether its answers are right.
 */
export class SmokeTests {
  private readonly results: SmokeTestResult[] = [];

  constructor(
    private readonly context: StepContext,
    private readonly address: Address,
    private readonly application: TenantApplication,
  ) {}

  /**
   * @throws {@link RefusedError} if the application is not ready for the tests
   * @throws {@link VerificationError} if one of them fails
   */
  async run(): Promise<SmokeTestResult[]> {
    await this.test('Multi-tenancy is on', () => this.assertFlag());
    await this.test('(1) The default tenant has the existing entities', () =>
      this.compareDefaultTenant(),
    );
    await withSmokeTenant(this.context, this.application, async slug => {
      await this.test('(2) A new tenant can be created', () =>
        this.createTenant(slug),
      );
      await this.test('(3) The new tenant has no entities', () =>
        this.assertEmpty(slug),
      );
    });
    this.application.takeTimings();
    return this.results;
  }

  /** Shows how long a look-up takes, which no test depends on. */
  async showLookup(): Promise<number | undefined> {
    const { executor, reporter } = this.context;
    const milliseconds = await timeLookup(executor);
    if (milliseconds !== undefined) {
      const { slow, message } = judgeLookup(milliseconds);
      if (slow) {
        reporter.warn(message);
      } else {
        reporter.info(message);
      }
    }
    return milliseconds;
  }

  private async test(test: string, body: () => Promise<string>): Promise<void> {
    this.application.takeTimings();
    const outcome = await body();
    const requests = this.application.takeTimings();
    this.results.push({ test, outcome, requests });
    this.context.reporter.info(
      `${test}: ${outcome} [${requests.map(renderTimings).join('; ')}]`,
    );
  }

  /** With the flag off, any slug at all is the default tenant. */
  private async assertFlag(): Promise<string> {
    const slug = randomSlug();
    if (await this.application.resolves(slug)) {
      throw new RefusedError(
        await explainUnknownResolves(this.context.executor, this.address),
      );
    }
    return 'a slug that no tenant has is refused.';
  }

  private async compareDefaultTenant(): Promise<string> {
    const { live, compared } = await compareEntities(
      this.application,
      new DefaultTenantRefs(this.context.executor),
    );
    if (live === 0) {
      this.context.reporter.warn(
        'The default tenant has no live entities, so their list shows nothing.',
      );
    }
    return `${compared} of ${live} live entities compared with the database.`;
  }

  private async createTenant(slug: string): Promise<string> {
    await this.application.createTenant(slug);
    if (!(await isActiveTenant(this.context.executor, slug))) {
      throw new VerificationError(
        `The application answered that the tenant "${slug}" is created, and the ` +
          'table tenants does not have it: the application uses another database ' +
          'or schema than this command, where that tenant now has to be deleted.',
      );
    }
    return `"${slug}" is created.`;
  }

  private async assertEmpty(slug: string): Promise<string> {
    const refs = await this.application.listEntities(slug, FEW, 0);
    if (refs.length > 0) {
      throw new VerificationError(
        `The tenant "${slug}" was created just now, and the application lists ` +
          `entities for it, such as ${refs[0]}. An instance of it runs without ` +
          'MULTI_TENANCY_ENABLED=true, or tenants see what is not theirs: set the ' +
          'flag to false until that is clear.',
      );
    }
    return 'none are listed.';
  }
}

function renderTimings({ request, milliseconds }: Timings): string {
  const slowest = Math.max(...milliseconds);
  return milliseconds.length === 1
    ? `${request}: ${slowest} ms`
    : `${request}: ${milliseconds.length} requests, at most ${slowest} ms each`;
}
