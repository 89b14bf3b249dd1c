import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { findPlugin } from '../plugins/known/knownPlugins';
import { EngineConfigs } from './EngineConfigs';

const ACME = {
  tenantId: '5b5a6c3e-8d57-4f0e-9b57-3f2b2c1d0e9f',
  tenantSlug: 'acme',
};
const techdocs = findPlugin('techdocs', { isDeclared: false });
const scaffolder = findPlugin('scaffolder', { isDeclared: false });

const create = (data: JsonObject) =>
  EngineConfigs.create({ config: mockServices.rootConfig({ data }), env: {} });

const publisher = (type: string, settings: JsonObject): JsonObject => ({
  techdocs: { publisher: { type, [type]: settings } },
});

const publisherOfTenants = (settings: JsonObject): JsonObject => ({
  tenancy: { plugins: { config: { techdocs: { publisher: settings } } } },
});

async function publisherOf(configs: EngineConfigs, type: string) {
  const { config } = await configs.configOfInstance(ACME, undefined, techdocs);
  return config.get(`techdocs.publisher.${type}`);
}

describe('the documents of a tenant', () => {
  it.each<[string, JsonObject, JsonObject]>([
    [
      'local',
      { publishDirectory: '/var/docs' },
      { publishDirectory: `/var/docs-of-tenants/${ACME.tenantId}` },
    ],
    [
      'awsS3',
      { bucketName: 'b', bucketRootPath: '/docs/', region: 'eu-west-1' },
      {
        bucketName: 'b',
        bucketRootPath: `docs-of-tenants/${ACME.tenantId}`,
        region: 'eu-west-1',
      },
    ],
    [
      'googleGcs',
      { bucketName: 'b', bucketRootPath: 'a/docs' },
      {
        bucketName: 'b',
        bucketRootPath: `a/docs-of-tenants/${ACME.tenantId}`,
      },
    ],
  ])('are beside those of the default tenant: %s', async (type, own, found) => {
    const configs = create(publisher(type, own));
    configs.checkInstances(techdocs);
    expect(await publisherOf(configs, type)).toEqual(found);
  });

  it.each<[string, JsonObject, RegExp]>([
    [
      'without a folder of the default tenant',
      {},
      /Set techdocs\.publisher\.local\.publishDirectory, or tenancy\.plugins\.config/,
    ],
    [
      'in a bucket that the default tenant has as a whole',
      publisher('awsS3', { bucketName: 'docs' }),
      /Set techdocs\.publisher\.awsS3\.bucketRootPath, or/,
    ],
    [
      'in one place for all',
      {
        ...publisher('awsS3', { bucketName: 'docs' }),
        ...publisherOfTenants({ awsS3: { bucketName: 'of-tenants' } }),
      },
      /would share awsS3\/of-tenants\. Put \$\{tenant\.id\} into it/,
    ],
    [
      'within the place of the default tenant',
      {
        ...publisher('googleGcs', { bucketName: 'docs' }),
        ...publisherOfTenants({
          googleGcs: { bucketRootPath: '${tenant.id}' },
        }),
      },
      /would share googleGcs\/docs with the default tenant/,
    ],
    [
      'where the tenant says',
      {
        ...publisher('local', { publishDirectory: '/var/docs' }),
        tenancy: { plugins: { tenantKeys: ['techdocs.publisher.local'] } },
      },
      /a tenant that configures techdocs\.publisher\.local could reach what is not its own/,
    ],
  ])('are not %s', (_, data, message) => {
    expect(() => create(data).checkInstances(techdocs)).toThrow(message);
  });

  it('are built in a container, unless the operator has otherwise for tenants', async () => {
    const runIn = async (tenancy: JsonObject) => {
      const { config } = await create({
        techdocs: {
          generator: { runIn: 'local', dockerImage: 'own' },
          publisher: { type: 'awsS3', awsS3: { bucketRootPath: 'docs' } },
        },
        tenancy,
      }).configOfInstance(ACME, undefined, techdocs);
      return config.get('techdocs.generator');
    };
    await expect(runIn({})).resolves.toEqual({ dockerImage: 'own' });
    const config = { techdocs: { generator: { runIn: 'local' } } };
    await expect(runIn({ plugins: { config } })).resolves.toMatchObject({
      runIn: 'local',
    });
  });

  it('are not those of the default tenant, whatever the slug of the tenant', async () => {
    const configs = create({
      ...publisher('awsS3', { bucketName: 'docs-acme', bucketRootPath: 'own' }),
      ...publisherOfTenants({
        awsS3: { bucketName: 'docs-${tenant.slug}', bucketRootPath: '/' },
      }),
    });
    configs.checkInstances(techdocs);
    await expect(publisherOf(configs, 'awsS3')).rejects.toThrow(
      'would share awsS3/docs-acme/own with the default tenant',
    );
  });
});

describe('the clusters of a tenant', () => {
  const kubernetes = findPlugin('kubernetes', { isDeclared: false });
  const withMethods = (...types: string[]): JsonObject => ({
    kubernetes: {
      objectTypes: ['pods'],
      clusterLocatorMethods: [{ type: 'gke', projectId: 'of-the-portal' }],
    },
    tenancy: {
      plugins: {
        config: {
          kubernetes: {
            clusterLocatorMethods: types.map(type => ({ type })),
          },
        },
        tenantKeys: ['kubernetes.clusterLocatorMethods'],
      },
    },
  });

  it('are those of its catalog, and none of the portal', async () => {
    const configs = create({
      ...withMethods(),
      tenancy: { engines: { allow: [{ host: '*.example.com:6443' }] } },
    });
    configs.checkInstances(kubernetes);
    const { config } = await configs.configOfInstance(
      ACME,
      undefined,
      kubernetes,
    );
    expect(config.get('kubernetes')).toEqual({
      objectTypes: ['pods'],
      serviceLocatorMethod: { type: 'multiTenant' },
      clusterLocatorMethods: [
        { type: 'catalog', dangerouslyAllowClusterUrls: ['*.example.com'] },
      ],
    });
  });

  it('are found without the identity of the portal, whoever says how', async () => {
    const message = /by the method 'gke' of kubernetes\.clusterLocatorMethods/;
    expect(() =>
      create(withMethods('catalog', 'gke')).checkInstances(kubernetes),
    ).toThrow(message);
    const configs = create(withMethods('catalog'));
    configs.checkInstances(kubernetes);
    const { config, fault } = await configs.configOfInstance(
      ACME,
      {
        plugins: { kubernetes: { clusterLocatorMethods: [{ type: 'gke' }] } },
      },
      kubernetes,
    );
    expect(fault).toMatch(message);
    expect(config.get('kubernetes')).toMatchObject({
      clusterLocatorMethods: [{ type: 'catalog' }],
    });
  });

  it('are not reached by endpoints of a proxy that the tenant configures', () => {
    const configs = create({
      tenancy: { plugins: { tenantKeys: ['proxy.endpoints'] } },
    });
    expect(() =>
      configs.checkInstances(findPlugin('proxy', { isDeclared: false })),
    ).toThrow('a tenant that configures proxy.endpoints could reach');
  });
});

describe('the webhooks of a tenant', () => {
  it('are none that nothing verifies', () => {
    const configs = create({
      tenancy: {
        plugins: { config: { events: { http: { topics: ['git'] } } } },
      },
    });
    expect(() =>
      configs.checkInstances(findPlugin('events', { isDeclared: false })),
    ).toThrow("Tenants can't have topics of events.http");
  });
});

describe('the templates of a tenant', () => {
  it('run a few at a time, in a folder of the tenant, with what the portal demands', async () => {
    const configs = create({
      backend: { workingDirectory: '/var/work' },
      scaffolder: {
        concurrentTasksLimit: 100,
        requireScmUserCredentials: true,
      },
    });
    const { config } = await configs.configOfInstance(
      ACME,
      undefined,
      scaffolder,
    );
    expect(config.get()).toMatchObject({
      backend: { workingDirectory: `/var/work/tenants/${ACME.tenantId}` },
      scaffolder: { concurrentTasksLimit: 3, requireScmUserCredentials: true },
    });
  });
});

describe('what a tenant configures of an instance', () => {
  const configs = create({
    scaffolder: { defaultAuthor: { name: 'of the portal' } },
    integrations: { github: [{ host: 'ghe.example.com', token: 'secret' }] },
    tenancy: {
      plugins: {
        config: {
          scaffolder: {
            defaultAuthor: { email: '${tenant.slug}@example.com' },
            defaultCommitMessage: 'for ${tenant.id}',
          },
        },
        tenantKeys: ['scaffolder.defaultAuthor', 'jenkins.baseUrl'],
      },
    },
  });
  const scaffolderOf = async (plugins: JsonObject) => {
    const { config, fault } = await configs.configOfInstance(
      ACME,
      { plugins },
      scaffolder,
    );
    return { config: config.get('scaffolder'), fault };
  };

  it('goes over what the operator has for tenants', async () => {
    const own = { scaffolder: { defaultAuthor: { name: 'Acme' } } };
    await configs.validate(ACME, { plugins: own });
    expect(await scaffolderOf(own)).toMatchObject({
      config: {
        defaultAuthor: { name: 'Acme', email: 'acme@example.com' },
        defaultCommitMessage: `for ${ACME.tenantId}`,
      },
      fault: undefined,
    });
  });

  it('removes nothing that the operator has beside it', async () => {
    const deeper = create({
      tenancy: { plugins: { tenantKeys: ['scaffolder.defaultAuthor.name'] } },
    });
    const plugins = { scaffolder: { defaultAuthor: null } };
    await expect(deeper.validate(ACME, { plugins })).rejects.toThrow(
      'plugins.scaffolder.defaultAuthor: expected one of the keys',
    );
  });

  it.each<[JsonObject, string]>([
    [
      { scaffolder: { defaultCommitMessage: 'x' } },
      'plugins.scaffolder.defaultCommitMessage: expected one of the keys that the operator lets tenants configure: plugins.scaffolder.defaultAuthor, plugins.jenkins.baseUrl',
    ],
    [{ techdocs: { builder: 'local' } }, 'plugins.techdocs: expected one of'],
    [{ scaffolder: {}, jenkins: [] as never }, 'plugins.jenkins'],
    [
      { jenkins: { baseUrl: 'https://internal.example.com' } },
      "plugins.jenkins.baseUrl: the host 'internal.example.com' is not allowed",
    ],
    [{ jenkins: { baseUrl: '${TOKEN}' } }, 'plugins.jenkins.baseUrl'],
  ])('is refused otherwise, and left out: %j', async (plugins, message) => {
    await expect(configs.validate(ACME, { plugins })).rejects.toThrow(message);
    const { config } = await scaffolderOf({ ...plugins });
    expect(config).toMatchObject({
      defaultAuthor: { name: 'of the portal', email: 'acme@example.com' },
      defaultCommitMessage: `for ${ACME.tenantId}`,
    });
  });
});
