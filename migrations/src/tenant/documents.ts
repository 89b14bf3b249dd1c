import type { AppConfig, Config } from '@backstage/config';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { emptyBucket } from './emptyBucket';

type JsonObject = AppConfig['data'];

/** Where TechDocs keeps the documents of a tenant. */
export interface Documents {
  /** The folder, or the address in a store. */
  place: string;
  /** What removes them, by the tools of the provider. */
  command: string;
  /** Removes them, where this process can, and resolves to whether there were any. */
  remove?(): Promise<boolean>;
}

const PUBLISHER = 'techdocs.publisher';
const OF_TENANTS = 'tenancy.plugins.config.techdocs.publisher';

// Where a backend runs, against which Node resolves relative folders.
const BACKEND = 'packages/backend';

/**
 * As the engines' module gives a tenant a root of its own: see docs/integrators/plugins.md.
 *
 * @returns undefined where there are none, or they are not in a place of the tenant alone
 */
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
  const shared = config.getOptional<JsonObject>(`${PUBLISHER}.${type}`) ?? {};
  const own = config.getOptional<JsonObject>(`${OF_TENANTS}.${type}`) ?? {};
  /** The tenant's own value of a key; nothing where others have the same. */
  const ownValue = (key: string): string | undefined => {
    const value = String(own[key] ?? '');
    return /\$\{tenant\.(id|slug)\}/.test(value)
      ? value
          .replaceAll('${tenant.id}', tenantId)
          .replaceAll('${tenant.slug}', slug)
      : undefined;
  };
  /** Beside the root of the default tenant, unless the operator has named one for tenants. */
  const beside = (key: string, ending: string): string | undefined =>
    shared[key] && own[key] === undefined
      ? `${String(shared[key]).replace(/\/+$/, '')}${ending}${tenantId}`
      : undefined;
  const besideRoot = (key: string) => beside(key, '-of-tenants/');
  switch (type) {
    case 'local': {
      const key = 'publishDirectory';
      const root = ownValue(key) ?? besideRoot(key);
      return root === undefined
        ? undefined
        : inFolder(resolve(existsSync(BACKEND) ? BACKEND : '.', root));
    }
    case 'awsS3':
    case 'googleGcs': {
      const ownBucket = ownValue('bucketName');
      const root =
        ownValue('bucketRootPath') ??
        (ownBucket === undefined ? besideRoot('bucketRootPath') : undefined);
      if (ownBucket === undefined && root === undefined) {
        return undefined;
      }
      const bucket =
        ownBucket ?? String(own.bucketName ?? shared.bucketName ?? '');
      const prefix = root ? `${root.replace(/^\/+|\/+$/g, '')}/` : '';
      const place = `${type === 'awsS3' ? 's3' : 'gs'}://${bucket}/${prefix}`;
      return type === 'awsS3'
        ? {
            place,
            command: `aws s3 rm --recursive ${place}`,
            remove: async () =>
              (await emptyBucket({
                bucket,
                prefix,
                settings: { ...shared, ...own },
              })) > 0,
          }
        : { place, command: `gcloud storage rm --recursive "${place}**"` };
    }
    default: {
      const key = 'containerName';
      const container = ownValue(key) ?? beside(key, '-');
      return container === undefined
        ? undefined
        : {
            place: container,
            command:
              type === 'azureBlobStorage'
                ? `az storage container delete --name ${container} --account-name ${accountOf(
                    { ...shared, ...own },
                  )} --auth-mode login`
                : `openstack container delete --recursive ${container}`,
          };
    }
  }
}

/** Without it, the command knows no server. */
function accountOf({ credentials }: JsonObject): string {
  const { accountName } = (credentials ?? {}) as JsonObject;
  return accountName === undefined ? '<account>' : String(accountName);
}

function inFolder(path: string): Documents {
  return {
    place: path,
    command: `rm -r ${path}`,
    async remove() {
      const exists = existsSync(path);
      await rm(path, { recursive: true, force: true });
      return exists;
    },
  };
}
