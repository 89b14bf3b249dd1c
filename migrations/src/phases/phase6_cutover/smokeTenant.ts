import { randomBytes } from 'node:crypto';
import type { StepContext } from '../../engine/Step';
import { escapeLiteral } from '../../sql';
import { asCurl } from './curl';
import { isActiveTenant } from './tenantResolution';
import { requests } from './TenantApplication';
import type { TenantApplication } from './TenantApplication';

/** The slug of a tenant that is to be deleted. */
const STATE_KEY = 'smoke_test_tenant';

/** A slug that nobody has. */
export function randomSlug(): string {
  return `smoke-test-${randomBytes(6).toString('hex')}`;
}

/**
 * Creates a tenant for as long as `use` takes. It is remembered in the database
 * before it is created, so that it goes even if the command is killed.
 */
export async function withSmokeTenant<T>(
  context: StepContext,
  application: TenantApplication,
  use: (slug: string) => Promise<T>,
): Promise<T> {
  const slug = randomSlug();
  await context.executor.execute(context.state.put(STATE_KEY, slug));
  try {
    return await use(slug);
  } finally {
    await deleteSmokeTenant(context, application);
  }
}

/**
 * Deletes the tenant that is remembered. Where that is not possible, the operator
 * is told how to; the smoke tests do not fail for it.
 */
export async function deleteSmokeTenant(
  context: StepContext,
  application: TenantApplication,
): Promise<void> {
  const { executor, state } = context;
  const slug = await state.get<string>(STATE_KEY);
  if (slug === undefined) {
    return;
  }
  if (await isActiveTenant(executor, slug)) {
    const reason = await application.deleteTenant(slug).then(
      () => 'the application answered that it is deleted, and it is not.',
      error => (error as Error).message,
    );
    if (await isActiveTenant(executor, slug)) {
      warn(context, slug, reason);
      return;
    }
  }
  await executor.execute(state.forget(STATE_KEY));
}

/** Forgets the tenant, and warns if it is still there. */
export async function forgetSmokeTenant(context: StepContext): Promise<void> {
  const { executor, state } = context;
  const slug = await state.get<string>(STATE_KEY);
  if (slug !== undefined && (await isActiveTenant(executor, slug))) {
    warn(context, slug, 'its deletion is not part of the undo.');
  }
  await executor.execute(state.forget(STATE_KEY));
}

function warn(
  { reporter, settings }: StepContext,
  slug: string,
  reason: string,
): void {
  const curl = asCurl(
    settings.cutover ?? { baseUrl: '<base URL>' },
    requests.deleteTenant(slug),
  );
  reporter.warn(
    `The tenant "${slug}" of the smoke tests stays: ${reason}\n` +
      'It holds nothing. Delete it through the application:\n' +
      `  ${curl}\n` +
      'or in the database:\n' +
      `  update tenants set deleted_at = now() where tenant_slug = ${escapeLiteral(
        slug,
      )};`,
  );
}
