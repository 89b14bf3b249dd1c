import { ConfigReader } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';

/** The operator's settings for the configuration of plugins' instances. */
export interface PluginsConfig {
  /** The configuration of instances, by the id of the plugin, which is also its key. */
  config: Readonly<Record<string, JsonObject>>;
  /** Keys that a tenant may configure itself, such as `scaffolder.defaultAuthor`. */
  tenantKeys: readonly string[];
}

/** Replaces `${tenant.id}` and `${tenant.slug}` in all strings. */
export function fillIn<TValue extends JsonValue | undefined>(
  value: TValue,
  { tenantId, tenantSlug }: ActiveTenant,
): TValue {
  return (
    value &&
    JSON.parse(
      // JSON escapes no character of an id or a slug.
      JSON.stringify(value)
        .replaceAll('${tenant.id}', tenantId)
        .replaceAll('${tenant.slug}', tenantSlug),
    )
  );
}

/**
 * Checks that a tenant configures only keys that the operator allows.
 *
 * @throws InputError that names the key
 */
export function checkTenantKeys(
  plugins: JsonObject,
  allowed: readonly string[],
): void {
  const visit = (value: JsonValue | undefined, key: string): void => {
    if (allowed.includes(key)) {
      return;
    }
    const isAbove = allowed.some(each => each.startsWith(`${key}.`));
    // Null would remove what the operator has configured beside the key.
    if (
      !isAbove ||
      value === null ||
      typeof value !== 'object' ||
      Array.isArray(value)
    ) {
      throw new InputError(
        `plugins.${key}: expected one of the keys that the operator lets tenants configure: ${
          allowed.map(each => `plugins.${each}`).join(', ') || 'there are none'
        }`,
      );
    }
    Object.entries(value).forEach(([name, item]) =>
      visit(item, `${key}.${name}`),
    );
  };
  Object.entries(plugins).forEach(([id, value]) => visit(value, id));
}

/** The later ones come first, as with several files of app-config. */
export function mergeConfigs(...configs: JsonObject[]): JsonObject {
  return ConfigReader.fromConfigs(
    configs.map((data, index) => ({ context: String(index), data })),
  ).get<JsonObject>();
}
