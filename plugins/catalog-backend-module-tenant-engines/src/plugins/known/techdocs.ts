import type { JsonObject, JsonValue } from '@backstage/types';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { resolve } from 'node:path';
import { objectOf } from '../../config/objects';
import type { KnownPlugin } from './KnownPlugin';

/*
 * The publishers of TechDocs know documents by the ref of their entity alone. Two tenants may
 * have the same refs, so that each needs a root of its own, and none may be within that of
 * another: a publisher serves whatever is below its root.
 */

/** Ends the name of a folder or prefix beside that of the default tenant. */
const OF_TENANTS = '-of-tenants';

/** The limit of Azure and Swift. */
const LONGEST_CONTAINER = 63;

export const techdocs: KnownPlugin = {
  id: 'techdocs',
  packages: ['@backstage/plugin-techdocs-backend'],
  background: 'none',
  cookiePaths: ['/static'],
  // The publisher's credentials are in it, which the tenant cannot read. Not generator.runIn: a
  // mkdocs.yml shows environment variables of the process that builds, by `!ENV`.
  inherits: [
    'techdocs.builder',
    'techdocs.cache',
    'techdocs.generator.dockerImage',
    'techdocs.generator.mkdocs',
    'techdocs.generator.pullImage',
    'techdocs.generator.pullOptions',
    'techdocs.publisher.awsS3',
    'techdocs.publisher.azureBlobStorage',
    'techdocs.publisher.googleGcs',
    'techdocs.publisher.local',
    'techdocs.publisher.openStackSwift',
    'techdocs.publisher.type',
  ],

  adapt(instance, backend, tenant) {
    if (String(storageOf(instance)) !== String(storageOf(backend))) {
      // The operator has configured a place for tenants.
      return instance;
    }
    const { type, settings } = publisherOf(instance);
    return {
      ...instance,
      techdocs: {
        ...objectOf(instance.techdocs),
        publisher: {
          ...objectOf(objectOf(instance.techdocs).publisher),
          [type]: { ...settings, ...ownRoot(type, settings, tenant) },
        },
      },
    };
  },

  storageOf,
  operatorKey: 'techdocs.publisher',
};

function storageOf(config: JsonObject): string[] {
  const { type, settings } = publisherOf(config);
  const { bucketName, bucketRootPath, containerName, publishDirectory } =
    settings;
  switch (type) {
    case 'local':
      return [
        type,
        ...(publishDirectory
          ? partsOf(resolve(String(publishDirectory)))
          : ['the folder of the package']),
      ];
    case 'awsS3':
    case 'googleGcs':
      return [type, String(bucketName), ...partsOf(bucketRootPath)];
    case 'azureBlobStorage':
    case 'openStackSwift':
      return [type, String(containerName)];
    default:
      throw new Error(
        `Tenants can't have documents by the publisher '${type}' of techdocs.publisher.type. Expected local, awsS3, googleGcs, azureBlobStorage or openStackSwift`,
      );
  }
}

/** Beside the root of the default tenant. */
function ownRoot(
  type: string,
  settings: JsonObject,
  { tenantId }: ActiveTenant,
): JsonObject {
  switch (type) {
    case 'local': {
      const key = 'publishDirectory';
      const folder = expectRoot(type, key, settings[key]);
      return { [key]: `${resolve(folder)}${OF_TENANTS}/${tenantId}` };
    }
    case 'awsS3':
    case 'googleGcs': {
      const key = 'bucketRootPath';
      const prefix = expectRoot(type, key, partsOf(settings[key]).join('/'));
      return { [key]: `${prefix}${OF_TENANTS}/${tenantId}` };
    }
    default: {
      const containerName = `${settings.containerName}-${tenantId}`;
      if (containerName.length > LONGEST_CONTAINER) {
        throw new Error(
          `A name such as ${containerName} is too long for a container. Set tenancy.plugins.config.techdocs.publisher.${type}.containerName, with $\${tenant.slug} in it`,
        );
      }
      return { containerName };
    }
  }
}

function expectRoot(
  type: string,
  key: string,
  value: JsonValue | undefined,
): string {
  if (!value) {
    throw new Error(
      `The documents of tenants would be within those of the default tenant. Set techdocs.publisher.${type}.${key}, or tenancy.plugins.config.techdocs.publisher for a place of their own`,
    );
  }
  return String(value);
}

function publisherOf(config: JsonObject): {
  type: string;
  settings: JsonObject;
} {
  const publisher = objectOf(objectOf(config.techdocs).publisher);
  const type = String(publisher.type ?? 'local');
  return { type, settings: objectOf(publisher[type]) };
}

function partsOf(path: JsonValue | undefined): string[] {
  return String(path ?? '')
    .split('/')
    .filter(Boolean);
}
