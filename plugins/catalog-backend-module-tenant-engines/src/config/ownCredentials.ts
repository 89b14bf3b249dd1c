import {
  type BackendFeature,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { urlReaderFactoriesServiceRef } from '@backstage/backend-defaults/urlReader';
import type { Config } from '@backstage/config';
import { InputError, NotAllowedError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { objectOf } from './objects';

/*
 * Clouds give the process of the backend an identity: a role of AWS, a managed identity of
 * Azure, a service account of Google. Backstage uses it wherever a configuration has no
 * credentials. A tenant would read with the operator's identity everything that this may read.
 */

const AZURE_HOST = 'dev.azure.com';

/** Providers of Backstage's own modules that support no other credentials. */
const WITH_BACKEND_IDENTITY = ['awsOrganization', 'awsS3', 'azureBlob', 'gcp'];

/**
 * Checks that a tenant's own configuration has credentials wherever Backstage would fall back
 * to those of the backend.
 *
 * @throws InputError that names the property and the expected form
 */
export function checkOwnCredentials(config: JsonObject): void {
  const integrations = objectOf(config.integrations);
  const providers = objectOf(objectOf(config.catalog).providers);
  for (const type of ['awsS3', 'awsCodeCommit']) {
    listOf(integrations[type]).forEach((entry, i) =>
      expectAll(entry, ['accessKeyId', 'secretAccessKey'], [type, i]),
    );
  }
  if (integrations.googleGcs !== undefined) {
    const entry = objectOf(integrations.googleGcs);
    expectAll(entry, ['clientEmail', 'privateKey'], ['googleGcs']);
  }
  listOf(integrations.azureBlobStorage).forEach((entry, i) => {
    const keys = [
      'accountKey',
      'sasToken',
      'connectionString',
      'aadCredential',
    ];
    if (!keys.some(key => entry[key])) {
      refuse(['azureBlobStorage', i], `one of ${keys.join(', ')}`);
    }
  });
  listOf(integrations.azure).forEach((entry, i) => {
    const credentials = listOf(entry.credentials);
    if (credentials.length === 0 && (entry.host ?? AZURE_HOST) === AZURE_HOST) {
      refuse(['azure', i], 'credentials');
    }
    credentials.forEach((credential, j) => {
      const isOwn = credential.personalAccessToken || credential.clientSecret;
      if (!isOwn || credential.managedIdentityClientId) {
        refuse(
          ['azure', i, 'credentials', j],
          'personalAccessToken, or clientSecret without managedIdentityClientId',
        );
      }
    });
  });
  checkHostParts(integrations);
  checkProviders(providers, listOf(integrations.azure));
}

/**
 * Clients of clouds build the name of a host from these values and connect themselves, so each
 * value must be a plain part of a name.
 */
function checkHostParts(integrations: JsonObject): void {
  listOf(integrations.awsS3).forEach((entry, i) => {
    if (entry.endpoint !== undefined && entry.s3ForcePathStyle !== true) {
      refuse(
        ['awsS3', i],
        's3ForcePathStyle: true beside endpoint, or the name of a bucket would be a part of the host',
      );
    }
  });
  const parts: [type: string, key: string, pattern: RegExp, form: string][] = [
    ['awsCodeCommit', 'region', /^[a-z0-9-]+$/, 'such as eu-west-1'],
    [
      'azureBlobStorage',
      'accountName',
      /^[a-z0-9]{3,24}$/,
      'of 3 to 24 letters and digits',
    ],
  ];
  for (const [type, key, pattern, form] of parts) {
    listOf(integrations[type]).forEach((entry, i) => {
      const value = entry[key];
      if (
        value !== undefined &&
        !(typeof value === 'string' && pattern.test(value))
      ) {
        refuse([type, i], `${key} ${form}`);
      }
    });
  }
}

function checkProviders(providers: JsonObject, azure: JsonObject[]): void {
  const refused = WITH_BACKEND_IDENTITY.find(id => providers[id] !== undefined);
  if (refused !== undefined) {
    throw new InputError(
      `catalog.providers.${refused}: works with the identity of the backend; expected ` +
        'in the configuration of the operator only',
    );
  }
  for (const [id, provider] of withProperty(
    providers.microsoftGraphOrg,
    'tenantId',
  )) {
    if (!provider.clientId || !provider.clientSecret) {
      throw new InputError(
        `catalog.providers.microsoftGraphOrg${id}: expected clientId and clientSecret`,
      );
    }
  }
  for (const [id, provider] of withProperty(
    providers.azureDevOps,
    'organization',
  )) {
    const isCovered = coversOrganization(azure, String(provider.organization));
    if ((provider.host ?? AZURE_HOST) === AZURE_HOST && !isCovered) {
      throw new InputError(
        `catalog.providers.azureDevOps${id}.organization: expected one for which ` +
          'integrations.azure has credentials',
      );
    }
  }
}

/**
 * A feature of a tenant's backend that refuses to read URLs with the backend's own identity.
 */
export function ownCredentialsReaders(): BackendFeature {
  return createServiceFactory({
    service: urlReaderFactoriesServiceRef,
    deps: {},
    async factory() {
      // Comes before the readers of Backstage: the first whose predicate holds reads.
      return ({ config }) => {
        const refuseUrl = async (url: string): Promise<never> => {
          throw new NotAllowedError(
            `Reading from ${
              new URL(url).host
            } needs credentials in this tenant's ` + 'integrations',
          );
        };
        return [
          {
            predicate: (url: URL) => needsBackendIdentity(url, config),
            reader: {
              readUrl: refuseUrl,
              readTree: refuseUrl,
              search: refuseUrl,
            },
          },
        ];
      };
    },
  });
}

function needsBackendIdentity(url: URL, config: Config): boolean {
  const integrations = objectOf(config.getOptional('integrations'));
  const hasOwn = (type: string) =>
    listOf(integrations[type]).some(entry => !entry.endpoint);
  // Both as loosely as the readers of Backstage compare them.
  if (url.host.endsWith('amazonaws.com')) {
    return !hasOwn('awsS3');
  }
  if (url.host.endsWith('blob.core.windows.net')) {
    return !hasOwn('azureBlobStorage');
  }
  if (url.host === AZURE_HOST) {
    const azure = listOf(integrations.azure).filter(
      entry => (entry.host ?? AZURE_HOST) === AZURE_HOST,
    );
    const organization = url.pathname.split('/').filter(Boolean)[0];
    return azure.length === 0 || !coversOrganization(azure, organization);
  }
  return false;
}

/** Whether requests for an organization of Azure get credentials of these entries. */
function coversOrganization(
  azure: JsonObject[],
  organization: string | undefined,
): boolean {
  return azure
    .filter(entry => (entry.host ?? AZURE_HOST) === AZURE_HOST)
    .some(({ credentials }) =>
      // Where the operator lists the host without credentials, those of the backend are meant.
      credentials === undefined
        ? true
        : listOf(credentials).some(({ organizations }) => {
            const names = Array.isArray(organizations) ? organizations : [];
            return (
              names.length === 0 ||
              (organization !== undefined && names.includes(organization))
            );
          }),
    );
}

function expectAll(
  entry: JsonObject,
  keys: string[],
  path: (string | number)[],
): void {
  if (!keys.every(key => entry[key])) {
    refuse(path, keys.join(' and '));
  }
}

function refuse(path: (string | number)[], expected: string): never {
  const at = path.map(step =>
    typeof step === 'number' ? `[${step}]` : `.${step}`,
  );
  throw new InputError(`integrations${at.join('')}: expected ${expected}`);
}

/** Modules accept one provider, which has this property, or several by their ids. */
function withProperty(
  value: JsonValue | undefined,
  property: string,
): [string, JsonObject][] {
  const children = Object.entries(objectOf(value)).map(
    ([id, child]): [string, JsonObject] => [`.${id}`, objectOf(child)],
  );
  return [['', objectOf(value)] as [string, JsonObject], ...children].filter(
    ([, provider]) => Object.hasOwn(provider, property),
  );
}

function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
