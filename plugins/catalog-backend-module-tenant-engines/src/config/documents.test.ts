import { ConfigReader } from '@backstage/config';
import { type ConfigSchema, loadConfigSchema } from '@backstage/config-loader';
import { repositoryFiles } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import {
  readAdministrators,
  readTenancyConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import { readFileSync } from 'fs';
import { resolve } from 'path';
import { parse } from 'yaml';
import { loadPackageSchemas } from './moduleSchemas';
import { readOperatorConfig } from './operatorConfig';

const ROOT = resolve(__dirname, '../../../..');
const FENCED = /^( *)```yaml\n([^]*?)\n\1```$/gm;

/** As with --lax, without a need for the variables and the files of secrets. */
const parseConfig = (text: string): JsonObject =>
  parse(
    text.replace(/\$\{\w+(?::-)?([^}]*)\}/g, (_, other) => other || 'x'),
    (_: unknown, value: any) => (value?.$file === undefined ? value : 'x'),
  );

/** What a file is read on top of, beside app-config.yaml. */
const BELOW: Record<string, string[]> = {
  'deploy/app-config.deploy.yaml, 1': [
    'app-config.production.yaml',
    'app-config.oidc.yaml',
  ],
};

/** Each configuration of ours that a document or an example shows. */
function shown(): [string, JsonObject][] {
  const files = repositoryFiles(ROOT).filter(file =>
    /\.md$|(^|\/)app-config[^/]*\.yaml$/.test(file),
  );
  return files.flatMap(file => {
    const text = readFileSync(resolve(ROOT, file), 'utf8');
    const blocks = file.endsWith('.md')
      ? [...text.matchAll(FENCED)].map(([, , block]) => block)
      : [text];
    return blocks
      .filter(block => /^ *(tenancy|mockup):$/m.test(block))
      .map((block, i): [string, JsonObject] => [
        `${file}, ${i + 1}`,
        parseConfig(block),
      ]);
  });
}

describe('The configuration that the documents show', () => {
  const read = (file: string) =>
    parseConfig(readFileSync(resolve(ROOT, file), 'utf8'));
  const base = read('app-config.yaml');
  let strict: ConfigSchema;

  /** As `backstage-cli config:check --strict` does. */
  const check = (data: JsonObject, below: string[] = []) =>
    strict.process(
      [
        { context: 'base', data: base },
        ...below.map(context => ({ context, data: read(context) })),
        { context: 'shown', data },
      ],
      { visibility: ['frontend', 'backend', 'secret'] },
    );

  beforeAll(async () => {
    strict = await loadConfigSchema({
      serialized: {
        backstageConfigSchemaVersion: 1,
        schemas: await loadPackageSchemas(ROOT),
      },
      noUndeclaredProperties: true,
    });
  });

  it.each(shown())('starts a backend: %s', (_, data) => {
    const config = new ConfigReader(data);
    expect(() => {
      readTenancyConfig(config, {});
      readAdministrators(config);
      readOperatorConfig(config);
    }).not.toThrow();
  });

  it.each(shown())('passes config:check --strict: %s', (name, data) => {
    expect(() => check(data, BELOW[name])).not.toThrow();
  });

  it('knows the secrets of tenants', () => {
    const [, { data }] = strict.process(
      [
        { context: 'base', data: base },
        {
          context: 'shown',
          data: {
            tenancy: {
              tenants: {
                acme: {
                  catalog: {
                    providers: { some: { a: { token: 'x', group: 'y' } } },
                  },
                  integrations: {
                    github: [
                      {
                        host: 'github.com',
                        apps: [{ appId: 1, privateKey: 'x' }],
                      },
                    ],
                  },
                },
              },
            },
          },
        },
      ],
      { visibility: ['secret'] },
    );
    expect(data).toEqual({
      tenancy: {
        tenants: {
          acme: {
            catalog: { providers: { some: { a: { token: 'x' } } } },
            integrations: { github: [{ apps: [{ privateKey: 'x' }] }] },
          },
        },
      },
    });
  });
});
