import { loadConfigSchema } from '@backstage/config-loader';
import type { PackageSchema } from '../moduleSchemas';

const PACKAGES = [
  '@backstage/integration',
  '@backstage/plugin-catalog-backend',
  '@backstage/plugin-catalog-backend-module-github',
  '@backstage/plugin-catalog-backend-module-gitlab',
];

/** A module that has what those of Backstage that are installed here have not. */
const MODULE: PackageSchema = {
  packageName: 'some-catalog-module',
  path: 'some-catalog-module/config.schema.json',
  value: {
    type: 'object',
    required: ['someModule'],
    properties: {
      catalog: {
        type: 'object',
        required: ['somethingElse'],
        properties: {
          providers: {
            type: 'object',
            properties: Object.fromEntries(
              ['someProvider', 'awsS3', 'azureDevOps', 'microsoftGraphOrg'].map(
                id => [id, { $ref: '#/definitions/provider' }],
              ),
            ),
          },
        },
      },
    },
    definitions: {
      provider: {
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: {
            size: { type: 'string', enum: ['small', 'large'] },
            keys: {
              type: 'array',
              items: { type: 'string' },
              deepVisibility: 'secret',
            },
            pin: { type: 'number', visibility: 'secret' },
          },
        },
      },
    },
  },
};

/** The schemas of a few packages: those of all take seconds. */
export async function loadSomeSchemas(): Promise<PackageSchema[]> {
  const schema = await loadConfigSchema({
    dependencies: PACKAGES,
    excludePackageDependencies: true,
  });
  return [...(schema.serialize().schemas as PackageSchema[]), MODULE];
}
