import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject, JsonValue } from '@backstage/types';
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import { loadSomeSchemas } from './__testUtils__/schemas';
import { EngineConfigs } from './EngineConfigs';

const tenant = {
  tenantId: '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11',
  tenantSlug: 'acme',
};

const SECRET = 'hunter2-secret-value';
const env = {
  ACME_TOKEN: SECRET,
  ACME_URL: `https://${SECRET}.example/path`,
  ACME_HOST_PART: SECRET,
  GRAPH: 'https://graph.example.com/v1.0',
  EMPTY: '',
  OTHER_TOKEN: SECRET,
};

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenant-secrets-'));
  mkdirSync(join(directory, 'acme', '..data'), { recursive: true });
  mkdirSync(join(directory, 'acme', 'folder'));
  mkdirSync(join(directory, 'acme-two'));
  writeFileSync(join(directory, 'acme', '..data', 'mounted'), `${SECRET}\n`);
  writeFileSync(join(directory, 'acme', 'token'), `${SECRET}\n`);
  writeFileSync(join(directory, 'acme', 'large'), 'x'.repeat(70_000));
  writeFileSync(join(directory, 'acme', 'almost'), 'x'.repeat(60_000));
  writeFileSync(join(directory, 'acme', 'empty'), '\n');
  writeFileSync(join(directory, 'acme-two', 'token'), SECRET);
  writeFileSync(join(directory, 'outside'), SECRET);
  const link = (target: string, name: string) =>
    symlinkSync(target, join(directory, 'acme', name));
  link(join('..data', 'mounted'), 'mounted');
  link(join('..', 'acme-two', 'token'), 'others');
  link(join('..', 'outside'), 'escaped');
  link('/etc/passwd', 'passwd');
});

afterAll(() => rmSync(directory, { recursive: true }));

/** Compiles the schemas once for all tests. */
let configsWithSecrets: EngineConfigs | undefined;

function create(): EngineConfigs {
  configsWithSecrets ??= build({ secretsDirectory: directory });
  return configsWithSecrets;
}

function build(engines: JsonObject): EngineConfigs {
  return EngineConfigs.create({
    env,
    loadSchemas: loadSomeSchemas,
    config: mockServices.rootConfig({
      data: {
        backend: {
          reading: {
            allow: [
              { host: 'files.example.com' },
              { host: '*.pages.example.com' },
              { host: 'ports.example.com:8000-8010' },
              { host: 'paths.example.com', paths: ['/shared'] },
              { host: 'graph.example.com' },
              { host: '127.0.0.1:7123' },
            ],
          },
        },
        integrations: {
          github: [
            {
              host: 'ghe.example.com',
              apiBaseUrl: 'https://api.ghe.example.com/v3',
              token: 'operator-token',
            },
          ],
        },
        tenancy: {
          engines,
          tenants: {
            acme: {
              secrets: [
                'ACME_TOKEN',
                'ACME_URL',
                'ACME_HOST_PART',
                'GRAPH',
                'EMPTY',
                'UNSET',
              ],
            },
            'acme-two': { secrets: ['OTHER_TOKEN'] },
          },
        },
      },
    }),
  });
}

async function refusal(
  config: unknown,
  configs = create(),
): Promise<{ name: string; message: string }> {
  const error = await configs.validate(tenant, config as JsonObject).then(
    () => {
      throw new Error('The configuration was not refused');
    },
    e => e,
  );
  expect(error.message).not.toContain(SECRET);
  expect(String(error.stack)).not.toContain(SECRET);
  return error;
}

const location = (target: JsonValue | undefined): JsonObject => ({
  catalog: { locations: [{ type: 'url', target }] },
});
const provider = (properties: JsonValue): JsonObject => ({
  catalog: { providers: { github: { theirs: properties } } },
});
const github = (properties: JsonObject): JsonObject => ({
  integrations: { github: [{ host: 'github.com', ...properties }] },
});

type Case = [what: string, config: unknown, message: string];

const refusedWith = (message: string) => ({
  name: 'InputError',
  message: expect.stringContaining(message),
});

describe('a tenant may configure', () => {
  it.each<[string, JsonObject]>([
    ['nothing', {}],
    [
      'a public host of Backstage',
      location('https://github.com/acme/x/blob/main/a.yaml'),
    ],
    ['a host of the operator', location('https://ghe.example.com/acme/x')],
    [
      'an API of the operator',
      provider({ apiBaseUrl: 'https://api.ghe.example.com/v3' }),
    ],
    [
      'a host of backend.reading.allow',
      location('https://files.example.com/a.yaml'),
    ],
    [
      'a subdomain that a wildcard allows',
      location('https://x.pages.example.com/a'),
    ],
    ['an address that is allowed', location('http://127.0.0.1:7123/a.yaml')],
    ['its own token', github({ token: '${ACME_TOKEN}' })],
    [
      'the same API as the operator',
      github({ apiBaseUrl: 'https://api.github.com/' }),
    ],
    ['a URL that is one reference', provider({ target: '${GRAPH}' })],
    ['a file', github({ token: { $file: 'token' } })],
    [
      'a file behind a link in its folder',
      github({ token: { $file: 'mounted' } }),
    ],
    ['an interval', { catalog: { processingInterval: { minutes: 1 } } }],
    ['the path of a file', provider({ catalogPath: 'catalog-info.yaml' })],
    ['a path in place of a URL', provider({ target: '/catalog-info.yaml' })],
    ['a name with dots', provider({ 'name.with.dots': 'x' })],
    [
      'a pattern of locations, to which nothing connects',
      {
        catalog: {
          rules: [
            {
              allow: ['API'],
              locations: [{ type: 'url', pattern: 'https://elsewhere.com/*' }],
            },
          ],
        },
      },
    ],
    [
      'another integration for a host of the operator',
      {
        integrations: {
          gitlab: [
            {
              host: 'ghe.example.com',
              apiBaseUrl: 'https://ghe.example.com/api/v4',
            },
          ],
        },
      },
    ],
  ])('%s', async (_, config) => {
    await expect(create().validate(tenant, config)).resolves.toBeUndefined();
  });

  it('an escaped reference, which stays text', async () => {
    const config = await create().configOf(
      tenant,
      provider({ a: '$${ACME_TOKEN}' }),
    );

    expect(config.getString('catalog.providers.github.theirs.a')).toBe(
      '${ACME_TOKEN}',
    );
  });

  it('secrets, which its engine gets', async () => {
    const config = await create().configOf(tenant, {
      integrations: {
        github: [
          { host: 'github.com', token: '${ACME_TOKEN}' },
          { host: 'ghe.example.com', token: { $file: 'mounted' } },
        ],
      },
    });

    expect(config.get('integrations')).toEqual({
      github: [
        { host: 'github.com', token: SECRET },
        { host: 'ghe.example.com', token: SECRET },
      ],
    });
  });
});

describe('the form of the configuration of a tenant', () => {
  const deep = (levels: number): JsonObject =>
    levels === 0 ? {} : { a: deep(levels - 1) };

  it.each<Case>([
    [
      'another property',
      { proxy: {} },
      'proxy: there is no such property here',
    ],
    [
      'another property of the catalog',
      { catalog: { readonly: true } },
      'catalog.readonly: there is no such',
    ],
    [
      'a file',
      { catalog: { locations: [{ type: 'file', target: '/etc/passwd' }] } },
      "catalog.locations[0].type: expected 'url'",
    ],
    [
      'a URL of a file',
      location('file:///etc/passwd'),
      'catalog.locations[0].target: expected a URL with http or https',
    ],
    [
      'a secret in a location',
      location('https://github.com/${ACME_TOKEN}'),
      'catalog.locations[0]: expected no reference',
    ],
    [
      '__proto__',
      JSON.parse('{"integrations":{"__proto__":{"github":[]}}}'),
      'integrations.__proto__: not a possible name',
    ],
    [
      'very deep nesting',
      provider(JSON.parse('['.repeat(5000) + ']'.repeat(5000))),
      'expected at most 20 levels',
    ],
    [
      'many values',
      provider({ a: Array(20_000).fill(1) }),
      'The configuration is too large',
    ],
  ])('is refused with %s', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });
});

describe('a reference', () => {
  const token = (value: JsonValue) => github({ token: value });

  it.each<Case>([
    [
      'to a variable that is not listed',
      token('${PATH}'),
      'integrations.github[0].token: the variable PATH does not belong to this tenant',
    ],
    [
      'to a variable of another tenant',
      token('${OTHER_TOKEN}'),
      'the variable OTHER_TOKEN does not belong to this tenant',
    ],
    [
      'to a variable in the midst of text',
      token('a-${OTHER_TOKEN}-b'),
      'the variable OTHER_TOKEN does not belong to this tenant',
    ],
    ['with a fallback', token('${ACME_TOKEN:-x}'), 'without a fallback'],
    [
      'to a variable that is not set',
      token('${UNSET}'),
      'the variable UNSET is not set in the environment',
    ],
    [
      'by $env',
      token({ $env: 'ACME_TOKEN' }),
      "integrations.github[0].token: '$env' is not possible here",
    ],
    [
      'to a path',
      token({ $file: '../acme-two/token' }),
      'expected the plain name of a file in $file',
    ],
    [
      'to a hidden file',
      token({ $file: '..data' }),
      'expected the plain name of a file in $file',
    ],
    [
      'with something beside it',
      token({ $file: 'token', a: 1 }),
      'expected no property beside $file',
    ],
    [
      'to a file that is not there',
      token({ $file: 'missing' }),
      "there is no readable file 'missing' of this tenant",
    ],
    [
      'to a link to a file of another tenant',
      token({ $file: 'others' }),
      "there is no readable file 'others' of this tenant",
    ],
    [
      'to a link to a file of the server',
      token({ $file: 'passwd' }),
      "there is no readable file 'passwd' of this tenant",
    ],
    [
      'to a large file',
      token({ $file: 'large' }),
      "there is no readable file 'large' of this tenant",
    ],
    [
      'to an empty file',
      token({ $file: 'empty' }),
      "integrations.github[0].token: the file 'empty' is empty",
    ],
    [
      'that is repeated',
      provider(Array(20).fill({ $file: 'almost' })),
      'catalog.providers.github.theirs[17]: expected at most 1048576 characters of secrets',
    ],
  ])('%s is refused by name', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });

  it('to a file is refused where the operator has no directory', async () => {
    const configs = build({});
    const error = await refusal(token({ $file: 'token' }), configs);

    expect(error.message).toContain(
      'tenancy.engines.secretsDirectory, which is not configured',
    );
  });
});

describe('a host', () => {
  const NONE = 'is not allowed; expected one that the operator lists';
  const FORM = 'expected a host, or a URL as https://<host>/<path>';

  it.each<Case>([
    [
      'of the metadata service',
      location('http://169.254.169.254/latest'),
      `catalog.locations[0].target: the host '169.254.169.254' ${NONE}`,
    ],
    [
      'as a decimal number',
      location('http://2852039166/'),
      `'169.254.169.254' ${NONE}`,
    ],
    ['as an IPv6 address', location('http://[::ffff:169.254.169.254]/'), NONE],
    [
      'that is this machine',
      location('http://localhost:7007/'),
      `'localhost:7007' ${NONE}`,
    ],
    [
      'with another port',
      location('https://github.com:8443/x'),
      `'github.com:8443' ${NONE}`,
    ],
    [
      'with a path that is not allowed',
      location('https://paths.example.com/private'),
      NONE,
    ],
    [
      'with another path by dots',
      location('https://paths.example.com/shared/../private'),
      NONE,
    ],
    ['with a trailing dot', location('https://github.com./x'), NONE],
    ['that only ends alike', location('https://evilpages.example.com/x'), NONE],
    ['after a user', location('https://github.com@evil.example/x'), FORM],
    [
      'after a backslash',
      location('https://evil.example\\@github.com/x'),
      FORM,
    ],
    [
      'of a provider',
      provider({ host: 'evil.example' }),
      `catalog.providers.github.theirs.host: the host 'evil.example' ${NONE}`,
    ],
    [
      'of a property of any name',
      provider({ thing: 'evil.example' }),
      `catalog.providers.github.theirs.thing: the host 'evil.example' ${NONE}`,
    ],
    [
      'as a number',
      provider({ host: 2852039166 }),
      `'169.254.169.254' ${NONE}`,
    ],
    ['with a path', provider({ host: 'ghe.example.com/x' }), FORM],
    [
      'as the name of a property',
      provider({ '10.0.0.1': {} }),
      `catalog.providers.github.theirs.10.0.0.1: the host '10.0.0.1' ${NONE}`,
    ],
    [
      'of a URL with a tab in its scheme',
      provider({ thing: 'ht\ttp:evil.example' }),
      FORM,
    ],
    [
      'of a URL without a scheme',
      provider({ thing: '//evil.example/x' }),
      FORM,
    ],
    [
      'of a file',
      provider({ thing: 'file:///etc/passwd' }),
      'expected no file of the server',
    ],
    [
      'of an integration',
      { integrations: { gitlab: [{ host: 'gitlab.evil.example' }] } },
      `integrations.gitlab[0].host: the host 'gitlab.evil.example' ${NONE}`,
    ],
    [
      'of an API of the operator for another host',
      github({ apiBaseUrl: 'https://api.ghe.example.com/v3' }),
      'integrations.github[0].apiBaseUrl: expected the URL that the operator has for this host',
    ],
    [
      'of an API that is no text',
      github({ apiBaseUrl: {} }),
      'integrations.github[0].apiBaseUrl: expected the URL that the operator has for this host',
    ],
    [
      'of an API of a host that is not named',
      { integrations: { github: [{ apiBaseUrl: 'https://ghe.example.com' }] } },
      'expected the URL that the operator has for this host',
    ],
    [
      'of something very long',
      provider({ host: `${':'.repeat(200_000)}x` }),
      'expected a host or a URL of at most 2048 characters',
    ],
    [
      'in a reference',
      provider({ target: '${ACME_URL}' }),
      `catalog.providers.github.theirs.target: the host ${NONE}`,
    ],
    [
      'with a reference in it',
      provider({ target: 'https://${ACME_HOST_PART}.example' }),
      'expected a host or a URL without a reference in it',
    ],
    [
      'with a reference in it, beside a property whose name is the same path',
      provider({
        a: { host: 'https://${ACME_HOST_PART}.example' },
        'a.host': 'x',
      }),
      'expected a host or a URL without a reference in it',
    ],
  ])('%s is refused', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });

  it('that the operator has taken away is refused when the engine is configured', async () => {
    await expect(
      create().configOf(tenant, location('https://gone.example.com/x')),
    ).rejects.toThrow(`the host 'gone.example.com' ${NONE}`);
  });
});

describe('an interval', () => {
  const schedule = (frequency: JsonValue) =>
    provider({ schedule: { frequency } });
  const SHORT = 'expected at least 60 seconds between two runs';
  const AT = 'catalog.providers.github.theirs.schedule.frequency';

  it.each<Case>([
    [
      'that is off',
      { catalog: { processingInterval: false } },
      'catalog.processingInterval: expected a duration',
    ],
    [
      'that is too short',
      { catalog: { processingInterval: { seconds: 59 } } },
      `catalog.processingInterval: ${SHORT}`,
    ],
    ['of a provider', schedule({ seconds: 1 }), `${AT}: ${SHORT}`],
    [
      'of a crontab, whose shortest one is not known',
      schedule({ cron: '0 2 * * *' }),
      `${AT}.cron: only the operator may configure a crontab expression`,
    ],
  ])('%s is refused', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });
});

describe('what the client of a cloud makes a part of a host', () => {
  const integrations = (value: object) => ({ integrations: value });

  it.each<Case>([
    [
      'an endpoint of which buckets are a part of the host',
      integrations({
        awsS3: [
          {
            endpoint: 'https://ghe.example.com',
            accessKeyId: 'a',
            secretAccessKey: 'b',
          },
        ],
      }),
      'integrations.awsS3[0]: expected s3ForcePathStyle: true beside endpoint',
    ],
    [
      'an account that is more than the first part of a host',
      integrations({
        azureBlobStorage: [{ accountName: '10.0.0.1/x', accountKey: 'a' }],
      }),
      'integrations.azureBlobStorage[0]: expected accountName of 3 to 24 letters and digits',
    ],
  ])('is refused: %s', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });
});

describe('what may take long to match', () => {
  const repository = (expression: string) =>
    provider({ organization: 'acme', filters: { repository: expression } });
  const rule = (pattern: string) => ({
    catalog: {
      rules: [{ allow: ['API'], locations: [{ type: 'url', pattern }] }],
    },
  });

  it.each(['(a+)+', '(a|aa)*b', '.*a.*a.*a.*a', '(\\(\\w+){2,}'])(
    'is refused to tenants as an expression of a provider: %s',
    async expression => {
      await expect(refusal(repository(expression))).resolves.toMatchObject(
        refusedWith(
          'catalog.providers.github.theirs.filters.repository: the expression may take long to match',
        ),
      );
    },
  );

  it.each(['https://github.com/acme/*a*a*a*a', 'https://github.com/+(a|aa)'])(
    'is refused to tenants as a pattern of a rule: %s',
    async pattern => {
      await expect(refusal(rule(pattern))).resolves.toMatchObject(
        refusedWith(
          `catalog.rules[0].locations[0].pattern: The pattern ${pattern} may take long to match`,
        ),
      );
    },
  );

  it.each([
    repository('^(service|library)-[a-z*+]+-.*(-old)?$'),
    rule('https://github.com/acme/**/catalog-*.{yaml,yml}'),
  ])('is nothing such as %j', async config => {
    await expect(create().validate(tenant, config)).resolves.toBeUndefined();
  });
});

describe("the backend's own identity in a cloud", () => {
  const integrations = (value: object) => ({ integrations: value });

  it.each<Case>([
    [
      'of AWS',
      integrations({ awsS3: [{}] }),
      'integrations.awsS3[0]: expected accessKeyId and secretAccessKey',
    ],
    [
      'of Google',
      integrations({ googleGcs: {} }),
      'integrations.googleGcs: expected clientEmail and privateKey',
    ],
    [
      'of Azure',
      integrations({ azure: [{ host: 'dev.azure.com' }] }),
      'integrations.azure[0]: expected credentials',
    ],
    [
      'of Azure beside a secret of its own',
      integrations({
        azure: [
          {
            credentials: [{ clientSecret: 'x', managedIdentityClientId: 'y' }],
          },
        ],
      }),
      'integrations.azure[0].credentials[0]: expected personalAccessToken',
    ],
    [
      'of the storage of Azure',
      integrations({ azureBlobStorage: [{ accountName: 'acme' }] }),
      'integrations.azureBlobStorage[0]: expected one of accountKey',
    ],
    [
      'of a provider of Microsoft Graph',
      { catalog: { providers: { microsoftGraphOrg: { tenantId: 'x' } } } },
      'catalog.providers.microsoftGraphOrg: expected clientId and clientSecret',
    ],
    [
      'of a provider of Azure DevOps',
      {
        catalog: {
          providers: { azureDevOps: { x: { organization: 'operator' } } },
        },
      },
      'catalog.providers.azureDevOps.x.organization: expected one for which integrations.azure has credentials',
    ],
    [
      'of a provider of S3',
      { catalog: { providers: { awsS3: {} } } },
      'catalog.providers.awsS3: works with the identity of the backend',
    ],
  ])('%s is refused to tenants', async (_, config, message) => {
    await expect(refusal(config)).resolves.toMatchObject(refusedWith(message));
  });
});
