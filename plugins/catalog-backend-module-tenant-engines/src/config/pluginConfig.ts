import { ConfigReader } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';

/** What the operator says about the configuration of instances of plugins. */
export interface PluginsConfig {
  /** By the id of the plugin: what its instances have below the key of that name. */
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
      // Neither has a character that JSON escapes.
      JSON.stringify(value)
        .replaceAll('${tenant.id}', tenantId)
        .replaceAll('${tenant.slug}', tenantSlug),
    )
  );
}

/**
 * Checks that a tenant configures what the operator lets it.
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
    if (!isAbove || typeof value !== 'object' || Array.isArray(value)) {
      throw new InputError(
        `plugins.${key}: expected one of the keys that the operator lets tenants configure: ${
          allowed.map(each => `plugins.${each}`).join(', ') || 'there are none'
        }`,
      );
    }
    Object.entries(value ?? {}).forEach(([name, item]) =>
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
