import type { JsonObject, JsonValue } from '@backstage/types';

/**
 * The keys of the backend's configuration that engines and instances inherit: only those that
 * their plugins and the services around them read. All other keys stay out, also those of later
 * versions of Backstage, and with them the credentials of the portal and the data of other
 * tenants.
 *
 * Never add a key here that is sent to other systems in the portal's name, or that a schema of
 * Backstage marks as secret.
 */
export const INHERITED = [
  'app.baseUrl',
  'app.title',
  'backend.actions.filter',
  'backend.actions.pluginSources',
  'backend.baseUrl',
  'backend.reading.allow',
  'backend.tracing.capture',
  'backend.tracing.plugin',
  'backend.workingDirectory',
  'catalog.actions',
  'catalog.defaultLocationConflictStrategy',
  'catalog.disableDefaultProcessors',
  'catalog.orphanProviderStrategy',
  'catalog.orphanStrategy',
  'catalog.processorOptions',
  'catalog.providerOptions',
  'catalog.readonly',
  'catalog.rules',
  'catalog.scmEvents',
  'catalog.stitchingStrategy',
  'notifications.concurrencyLimit',
  'notifications.defaultSettings',
  'notifications.retention',
  'notifications.throttleInterval',
  'organization.name',
  'permission.enabled',
  'scaffolder.EXPERIMENTAL_gracefulShutdown',
  'scaffolder.EXPERIMENTAL_recoverTasks',
  'scaffolder.EXPERIMENTAL_recoverTasksTimeout',
  'scaffolder.EXPERIMENTAL_workspaceSerialization',
  'scaffolder.EXPERIMENTAL_workspaceSerializationProvider',
  'scaffolder.auditor.taskParameterMaxLength',
  'scaffolder.defaultAuthor',
  'scaffolder.defaultCommitMessage',
  'scaffolder.defaultEnvironment.parameters',
  'scaffolder.requireScmUserCredentials',
  'scaffolder.taskRecovery',
  'scaffolder.taskTimeout',
  'scaffolder.taskTimeoutJanitorFrequency',
  'search.collators.catalog',
  'search.collators.techdocs',
  'search.maxPageLimit',
  'search.maxTermLength',
  'search.permissions.queryLatencyBudgetMs',
  'search.pg',
  'techdocs.legacyUseCaseSensitiveTripletPaths',
] as const;

/**
 * Also refused in the operator's `tenancy.engines.inherit`: each tenant has its own sources,
 * with `backend.startup` an engine could run without the modules that keep it to its tenant, and
 * the other keys have credentials of the portal or data of other tenants.
 */
const NEVER =
  /^(backend\.(auth|cache|database|startup)|catalog|connections|integrations|tenancy)(\.|$)|^backend$/;
const KEY = /^[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*$/;

/** @throws Error that names the key */
export function checkInherited(keys: readonly string[]): readonly string[] {
  const wrong = keys.find(key => !KEY.test(key) || NEVER.test(key));
  if (wrong !== undefined) {
    throw new Error(
      `Invalid tenancy.engines.inherit: '${wrong}' is not a key that engines can have. Expected keys such as 'jenkins' or 'notes.limits'`,
    );
  }
  return keys;
}

/** Copies the values of these keys. */
export function pick(config: JsonObject, keys: readonly string[]): JsonObject {
  const picked: JsonObject = {};
  for (const key of keys) {
    const steps = key.split('.');
    const value = steps.reduce<JsonValue | undefined>(childOf, config);
    if (value !== undefined) {
      const last = steps.pop()!;
      const parent = steps.reduce(
        (at, step) => (at[step] ??= {}) as JsonObject,
        picked,
      );
      parent[last] = structuredClone(value);
    }
  }
  return picked;
}

function childOf(value: JsonValue | undefined, step: string) {
  return typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.hasOwn(value, step)
    ? value[step]
    : undefined;
}
