import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { EngineConfigs } from './EngineConfigs';
import { INHERITED } from './inherited';
import { loadPackageSchemas } from './moduleSchemas';

const tenant = {
  tenantId: '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11',
  tenantSlug: 'acme',
};

const backend = {
  backend: { baseUrl: 'http://localhost:7007' },
  catalog: {
    locations: [{ type: 'url', target: 'https://github.com/default/x' }],
    providers: { github: { ours: { organization: 'default' } } },
    rules: [{ allow: ['Component'] }],
    processingInterval: { minutes: 2 },
  },
  integrations: { github: [{ host: 'github.com', token: 'default-token' }] },
};

function create(data: JsonObject) {
  return EngineConfigs.create({
    config: mockServices.rootConfig({ data }),
  });
}

describe('the configuration of an engine', () => {
  const operated = {
    catalog: {
      locations: [{ type: 'file', target: './acme.yaml' }],
      providers: { gitlab: { theirs: { host: 'gitlab.com' } } },
    },
    integrations: { gitlab: [{ host: 'gitlab.com', token: 'acme-token' }] },
  };
  const withOperated = {
    ...backend,
    tenancy: { schema: 'tenancy', tenants: { acme: operated } },
  };

  it("has the tenant's sources in place of the backend's, and no other token", async () => {
    const config = await create(withOperated).configOf(tenant, undefined);

    expect(config.get('catalog.locations')).toEqual(operated.catalog.locations);
    expect(config.get('catalog.providers')).toEqual(operated.catalog.providers);
    expect(config.get('integrations')).toEqual(operated.integrations);
    expect(JSON.stringify(config.get())).not.toContain('default-token');
  });

  it('uses app-config alone where it feeds the tenant', async () => {
    const configs = create(withOperated);
    const config = await configs.configOf(tenant, {
      catalog: {
        locations: [{ type: 'url', target: 'https://github.com/stored/x' }],
      },
    });

    expect(configs.isConfiguredByOperator('acme')).toBe(true);
    expect(JSON.stringify(config.get())).not.toContain('stored');
  });

  it("processes at the tenants' interval, not at the backend's", async () => {
    const interval = async (tenancy: JsonObject) =>
      (await create({ ...backend, tenancy }).configOf(tenant, undefined)).get(
        'catalog.processingInterval',
      );

    expect(await interval({})).toEqual({ minutes: 30 });
    expect(
      await interval({ engines: { processingInterval: { hours: 2 } } }),
    ).toEqual({ hours: 2 });
    expect(
      await interval({
        tenants: { acme: { catalog: { processingInterval: { hours: 1 } } } },
      }),
    ).toEqual({ hours: 1 });
  });
});

describe('what an engine inherits', () => {
  const MARK = 'secret-of-the-portal';
  const everywhere = { anything: MARK, nested: { of: [{ a: MARK }] } };

  it('is nothing of sections that it has no part in, known or not', async () => {
    const sections = [
      ...['app', 'auth', 'aws', 'azure', 'backend', 'catalog', 'connections'],
      ...['events', 'gcp', 'integrations', 'jenkins', 'kubernetes', 'mockup'],
      ...['notifications', 'organization', 'permission', 'proxy', 'scaffolder'],
      ...['search', 'techdocs', 'unknown'],
    ].map(section => [section, everywhere]);
    const config = await create({
      ...Object.fromEntries(sections),
      // What is on the list stands beside what is not.
      app: { ...everywhere, baseUrl: 'http://localhost:3000' },
      backend: {
        ...everywhere,
        auth: { keys: [{ secret: MARK }] },
        baseUrl: 'http://localhost:7007',
        cache: { connection: MARK },
        connections: [{ token: MARK }],
        database: { connection: { password: MARK } },
        reading: { ...everywhere, allow: [{ host: 'example.com' }] },
        // Without a module that fails, an engine could reach other tenants.
        startup: { default: { onPluginModuleBootFailure: 'continue' } },
      },
      catalog: {
        ...everywhere,
        locations: [{ type: 'url', target: MARK }],
        processors: { ldapOrg: { providers: [{ bind: { secret: MARK } }] } },
        providers: { github: { token: MARK } },
        rules: [{ allow: ['Component'] }],
      },
      scaffolder: {
        ...everywhere,
        defaultCommitSigningKey: MARK,
        defaultEnvironment: {
          parameters: { region: 'eu' },
          secrets: { TOKEN: MARK },
        },
      },
      search: { ...everywhere, elasticsearch: { auth: { password: MARK } } },
      // Of the form that the start expects.
      tenancy: {
        jwtSecret: MARK,
        database: { connection: { password: MARK } },
        engines: { secretsDirectory: MARK },
        tenants: { other: { integrations: { github: [{ token: MARK }] } } },
      },
    }).configOf(tenant, undefined);

    expect(JSON.stringify(config.get())).not.toContain(MARK);
    expect(config.get()).toEqual({
      app: { baseUrl: 'http://localhost:3000' },
      backend: {
        baseUrl: 'http://localhost:7007',
        reading: { allow: [{ host: 'example.com' }] },
      },
      catalog: {
        processingInterval: { minutes: 30 },
        rules: [{ allow: ['Component'] }],
      },
      events: { useEventBus: 'never' },
      scaffolder: { defaultEnvironment: { parameters: { region: 'eu' } } },
    });
  });

  it('is nothing that a schema of any package here marks as secret', async () => {
    const marked = (await loadPackageSchemas()).flatMap(({ value }) =>
      secretsIn(value as JsonObject),
    );
    // Of the database, and others.
    expect(marked.length).toBeGreaterThan(50);
    expect(
      marked.filter(path =>
        INHERITED.some(key => `${path}.`.startsWith(`${key}.`)),
      ),
    ).toEqual([]);
  });

  it('is what the operator lists besides', async () => {
    const config = await create({
      jenkins: { url: 'https://ci.example.com' },
      notes: { limits: { length: 5 }, token: MARK },
      tenancy: { engines: { inherit: ['jenkins', 'notes.limits', 'none'] } },
    }).configOf(tenant, undefined);
    expect(config.get()).toMatchObject({
      jenkins: { url: 'https://ci.example.com' },
      notes: { limits: { length: 5 } },
    });
    expect(JSON.stringify(config.get())).not.toContain(MARK);
  });

  it.each([
    'backend.auth',
    'backend.startup',
    'catalog.locations',
    'connections',
    'tenancy',
    'a b',
  ])('can not be %s', key => {
    expect(() => create({ tenancy: { engines: { inherit: [key] } } })).toThrow(
      `Invalid tenancy.engines.inherit: '${key}' is not a key that engines can have`,
    );
  });

  /** The paths of a schema, down to the first that is secret. Lists count as their items. */
  function secretsIn(schema: JsonObject, path = ''): string[] {
    if (schema.visibility === 'secret' || schema.deepVisibility === 'secret') {
      return [path];
    }
    const children = Object.entries((schema.properties ?? {}) as JsonObject);
    const others = [
      schema.items,
      schema.additionalProperties,
      ...[schema.anyOf, schema.oneOf, schema.allOf].flat(),
    ].filter(each => typeof each === 'object' && each !== null);
    return [
      ...children.flatMap(([name, child]) =>
        secretsIn(child as JsonObject, path ? `${path}.${name}` : name),
      ),
      ...others.flatMap(each => secretsIn(each as JsonObject, path)),
    ];
  }
});

describe('the configuration of an instance', () => {
  it('has nothing of a tenant one of whose secrets is missing', async () => {
    const env: NodeJS.ProcessEnv = { PRESENT: 'acme-token' };
    const configs = EngineConfigs.create({
      env,
      config: mockServices.rootConfig({
        data: {
          tenancy: { tenants: { acme: { secrets: ['PRESENT', 'GONE'] } } },
        },
      }),
    });
    const stored = {
      catalog: { providers: { gitlab: { all: { host: 'gitlab.com' } } } },
      integrations: {
        gitlab: [{ host: 'gitlab.com', token: '${PRESENT}' }],
        github: [{ host: 'github.com', token: '${GONE}' }],
      },
    };
    const read = () =>
      configs.configOfInstance(tenant, stored, { id: 'search' });
    await expect(configs.configOf(tenant, stored)).rejects.toThrow('GONE');
    const { config, fault } = await read();
    expect(config.has('integrations')).toBe(false);
    expect(configs.secretsOf(config)).toEqual([]);
    expect(fault).toMatch('the variable GONE is not set');

    env.GONE = 'other-token';
    const whole = await read();
    expect(whole.fault).toBeUndefined();
    expect(configs.secretsOf(whole.config)).toEqual([
      'acme-token',
      'other-token',
    ]);
  });
});

describe('app-config of the engines', () => {
  it.each<[string, JsonObject, string]>([
    [
      'another property of a tenant',
      { tenants: { acme: { catalogs: {} } } },
      'tenancy.tenants.acme.catalogs is unknown. Expected one of: secrets, catalog, integrations.',
    ],
    [
      'a name that is no slug',
      { tenants: { '../x': {} } },
      'The configuration tenancy.tenants.../x is not valid. Expected a slug',
    ],
    [
      'the default tenant',
      { tenants: { default: { catalog: {} } } },
      'Invalid tenancy.tenants.default: the default tenant is fed by the catalog of',
    ],
    [
      'an interval that is none',
      { engines: { processingInterval: 'soon' } },
      'The configuration tenancy.engines.processingInterval is "soon". Expected a duration',
    ],
  ])('names the key of %s', (_, tenancy, message) => {
    expect(() => create({ tenancy })).toThrow(message);
  });

  it('does not say what a tenant has that only may reference secrets', () => {
    const configs = create({
      tenancy: { tenants: { acme: { secrets: ['ACME_TOKEN'] } } },
    });

    expect(configs.isConfiguredByOperator('acme')).toBe(false);
  });
});
