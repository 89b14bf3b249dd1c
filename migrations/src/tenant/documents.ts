import type { Config } from '@backstage/config';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Where TechDocs keeps the documents of a tenant. */
export type Documents =
  | { kind: 'folder'; path: string }
  /** A prefix, bucket or container, which the tools of its provider remove. */
  | { kind: 'elsewhere'; place: string };

const PUBLISHER = 'techdocs.publisher';
const OF_TENANTS = 'tenancy.plugins.config.techdocs.publisher';

// Where a backend runs, against which Node resolves relative folders.
const BACKEND = 'packages/backend';

/** As the engines' module gives a tenant a root of its own: see docs/integrators/plugins.md. */
export function documentsOf(
  config: Config | undefined,
  { tenantId, slug }: { tenantId: string; slug: string },
): Documents | undefined {
  const type =
    config?.getOptionalString(`${OF_TENANTS}.type`) ??
    config?.getOptionalString(`${PUBLISHER}.type`);
  if (!config || type === undefined) {
    return undefined;
  }
  const read = (key: string) => {
    const own = config.getOptionalString(`${OF_TENANTS}.${type}.${key}`);
    return own === undefined
      ? { shared: config.getOptionalString(`${PUBLISHER}.${type}.${key}`) }
      : {
          own: own
            .replaceAll('${tenant.id}', tenantId)
            .replaceAll('${tenant.slug}', slug),
          isTheirs: /\$\{tenant\.(id|slug)\}/.test(own),
        };
  };
  const beside = (root: string) => `${root}-of-tenants/${tenantId}`;
  if (type === 'local') {
    const { own, isTheirs, shared } = read('publishDirectory');
    const folder = own ?? shared;
    if (folder === undefined || (own !== undefined && !isTheirs)) {
      return undefined;
    }
    const root = resolve(existsSync(BACKEND) ? BACKEND : '.', folder);
    return { kind: 'folder', path: own === undefined ? beside(root) : root };
  }
  const bucket = read('bucketName');
  const prefix = read('bucketRootPath');
  const container = read('containerName');
  const place =
    container.own ??
    (container.shared && `${container.shared}-${tenantId}`) ??
    `${bucket.own ?? bucket.shared}/${
      prefix.own ?? (prefix.shared && beside(prefix.shared)) ?? ''
    }`;
  return { kind: 'elsewhere', place: `${type} ${place}` };
}

/** @returns whether there was one */
export async function removeFolder(path: string): Promise<boolean> {
  const exists = existsSync(path);
  await rm(path, { recursive: true, force: true });
  return exists;
}
