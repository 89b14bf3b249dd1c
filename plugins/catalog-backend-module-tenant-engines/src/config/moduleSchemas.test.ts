import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject, JsonValue } from '@backstage/types';
import { loadSomeSchemas } from './__testUtils__/schemas';
import { mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { EngineConfigs } from './EngineConfigs';
import { loadPackageSchemas } from './moduleSchemas';

const tenant = {
  tenantId: '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11',
  tenantSlug: 'acme',
};

const SECRET = 'hunter2-secret-value';

function create(loadSchemas = loadSomeSchemas): EngineConfigs {
  return EngineConfigs.create({
    loadSchemas,
    env: { ACME_TOKEN: SECRET, ACME_PIN: '1234', ACME_APP: '42' },
    config: mockServices.rootConfig({
      data: {
        tenancy: {
          tenants: {
            acme: { secrets: ['ACME_TOKEN', 'ACME_PIN', 'ACME_APP'] },
          },
        },
      },
    }),
  });
}

const configs = create();

const providers = (value: JsonObject): JsonObject => ({
  catalog: { providers: value },
});
const some = (properties: JsonObject) =>
  providers({ someProvider: { theirs: properties } });
const github = (properties: JsonObject): JsonObject => ({
  integrations: { github: [{ host: 'github.com', ...properties }] },
});
const app = (privateKey: JsonValue): JsonObject =>
  github({
    apps: [
      {
        appId: '${ACME_APP}',
        clientId: 'Iv1.x',
        clientSecret: '${ACME_TOKEN}',
        privateKey,
      },
    ],
  });

describe('by the schemas of the modules', () => {
  it.each<[string, JsonObject]>([
    ['an empty configuration, though modules require more', {}],
    ['values of the right type', some({ size: 'small' })],
    ['secrets that are references', github({ token: '${ACME_TOKEN}' })],
    ['numbers that are references', some({ pin: '${ACME_PIN}' })],
    ['an app of GitHub', app('${ACME_TOKEN}')],
    ['properties that no schema has', some({ other: 'x' })],
    [
      'a provider of GitLab',
      providers({ gitlab: { x: { host: 'gitlab.com' } } }),
    ],
  ])('%s is valid', async (_, config) => {
    await expect(configs.validate(tenant, config)).resolves.toBeUndefined();
  });

  it.each<[string, JsonObject, string]>([
    [
      'a provider that no module has',
      providers({ gihub: {} }),
      'catalog.providers.gihub: no module of this backend has it; expected awsS3, azureDevOps, github, githubOrg, gitlab, microsoftGraphOrg, someProvider',
    ],
    [
      'a type',
      github({ token: '${ACME_TOKEN}', apps: 'x' }),
      'must be array { type=array } at /integrations/github/0/apps',
    ],
    [
      'one of several values',
      some({ size: 'huge' }),
      'must be equal to one of the allowed values',
    ],
    [
      'a secret that is none',
      some({ size: '${ACME_TOKEN}' }),
      'must be equal to one of the allowed values',
    ],
    [
      'a literal secret',
      github({ token: SECRET }),
      'integrations.github[0].token: expected a reference to a secret',
    ],
    [
      'a literal secret beside a reference',
      github({ token: `${SECRET}\${ACME_TOKEN}` }),
      'integrations.github[0].token: expected a reference to a secret',
    ],
    [
      'a literal secret in a list',
      app(SECRET),
      'integrations.github[0].apps[0].privateKey: expected a reference',
    ],
  ])('%s is refused', async (_, config, message) => {
    const error = await configs.validate(tenant, config).then(
      () => undefined,
      e => e,
    );

    expect(error?.name).toBe('InputError');
    expect(error.message).toContain(message);
    expect(error.message).not.toContain(SECRET);
  });
});

describe('where the packages of the backend lead to no integration', () => {
  let directory: string;
  let all: EngineConfigs;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'bare-'));
    await writeFile(join(directory, 'package.json'), '{"workspaces":["x"]}');
    const schemas = await loadPackageSchemas(directory);
    all = create(async () => schemas);
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  const codeCommit = (secretAccessKey: string) => ({
    region: 'eu-west-1',
    accessKeyId: 'AKIA',
    secretAccessKey,
  });

  it.each<[string, JsonObject]>([
    ['gitea', { host: 'github.com', password: '${ACME_TOKEN}' }],
    ['harness', { host: 'github.com', apiKey: '${ACME_TOKEN}' }],
    ['bitbucketCloud', { username: 'acme', appPassword: '${ACME_TOKEN}' }],
    ['awsCodeCommit', codeCommit('${ACME_TOKEN}')],
  ])('a tenant may use the reader of %s', async (type, entry) => {
    await expect(
      all.validate(tenant, { integrations: { [type]: [entry] } }),
    ).resolves.toBeUndefined();
  });

  it.each<[string, JsonObject]>([
    ['gitea', { host: 'github.com', password: SECRET }],
    ['awsCodeCommit', codeCommit(SECRET)],
  ])('a literal secret of %s is refused', async (type, entry) => {
    await expect(
      all.validate(tenant, { integrations: { [type]: [entry] } }),
    ).rejects.toThrow('expected a reference to a secret');
  });
});
