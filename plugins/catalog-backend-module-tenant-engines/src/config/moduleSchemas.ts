import { resolvePackagePath } from '@backstage/backend-plugin-api';
import { type ConfigSchema, loadConfigSchema } from '@backstage/config-loader';
import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { getPackages } from '@manypkg/get-packages';
import { join } from 'path';
import { Worker } from 'worker_threads';
import { isObject } from './objects';
import type { ResolvedConfig } from './references';

/** The schema of one package's configuration, as `loadConfigSchema` serializes it. */
export type PackageSchema = JsonObject;

const SOURCES = ['catalog', 'integrations'];

/** The schemas of this backend's modules for `catalog` and `integrations`. */
export class ModuleSchemas {
  readonly #schema: ConfigSchema;
  readonly #providers: ReadonlySet<string>;
  readonly #integrations: ReadonlySet<string>;

  private constructor(schema: ConfigSchema, schemas: readonly PackageSchema[]) {
    this.#schema = schema;
    this.#providers = new Set(
      schemas.flatMap(schema_ =>
        propertiesAt(schema_.value, ['catalog', 'providers']),
      ),
    );
    this.#integrations = new Set(
      schemas.flatMap(schema_ => propertiesAt(schema_.value, ['integrations'])),
    );
  }

  static async create(all: readonly PackageSchema[]): Promise<ModuleSchemas> {
    const schemas = all.flatMap(schema => {
      const sources = withSourcesOnly(schema.value);
      return sources ? [{ ...schema, value: sources }] : [];
    });
    const schema = await loadConfigSchema({
      serialized: { backstageConfigSchemaVersion: 1, schemas },
    });
    return new ModuleSchemas(schema, schemas);
  }

  /** @throws InputError that names the property and the expected form, and no value */
  validate(config: ResolvedConfig): void {
    const { catalog, integrations } = config.data;
    const { providers } = (catalog ?? {}) as JsonObject;
    checkNames(providers, this.#providers, 'catalog.providers');
    checkNames(integrations, this.#integrations, 'integrations');
    const literals: string[] = [];
    const configs = [{ data: config.data, context: 'tenant' }];
    try {
      this.#schema.process(configs);
      this.#schema.process(configs, {
        visibility: ['secret'],
        valueTransform: (value, { path }) => {
          if (config.originAt(path) !== 'reference') {
            literals.push(path);
          }
          return value;
        },
      });
    } catch (error) {
      throw new InputError(describe(error));
    }
    if (literals.length > 0) {
      throw new InputError(
        `${literals[0]}: expected a reference to a secret, \${NAME} or ` +
          '{ "$file": "name" }',
      );
    }
  }
}

/** A package with an invalid schema is left out, as at the start of Backstage. */
const LOAD_SCHEMAS = `
const { parentPort, workerData } = require('worker_threads');
const { loadConfigSchema } = require(workerData.configLoader);
loadConfigSchema({
  dependencies: [],
  packagePaths: workerData.packagePaths,
  onSchemaError() {},
}).then(schema => parentPort.postMessage(schema.serialize().schemas));
`;

/**
 * Loads the schemas of all packages that this backend is made of, as Backstage does it
 * for the secrets in its logs.
 *
 * In a thread: a schema in TypeScript needs the compiler, which takes seconds and 200 MB until
 * the thread ends.
 */
export async function loadPackageSchemas(
  directory: string = process.cwd(),
): Promise<PackageSchema[]> {
  const packagePaths = await packagesOf(directory);
  return new Promise((resolve, reject) => {
    const worker = new Worker(LOAD_SCHEMAS, {
      eval: true,
      execArgv: [],
      workerData: {
        packagePaths,
        configLoader: require.resolve('@backstage/config-loader'),
      },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () =>
      reject(new Error('Loading the schemas of configurations has stopped')),
    );
  });
}

async function packagesOf(directory: string): Promise<string[]> {
  const { packages, root } = await getPackages(directory);
  return [
    ...[root, ...packages].map(({ dir }) => join(dir, 'package.json')),
    // Brings the integrations of Backstage's readers, also where the packages of this directory
    // do not lead to them.
    resolvePackagePath(
      'backstage-plugin-catalog-backend-module-tenant-engines',
      'package.json',
    ),
  ];
}

/** A tenant has no other part of a backend's configuration, which may be required. */
function withSourcesOnly(
  schema: JsonValue | undefined,
): JsonObject | undefined {
  if (!isObject(schema) || !isObject(schema.properties)) {
    return undefined;
  }
  const { required: _, ...rest } = schema;
  const sources = Object.entries(schema.properties).filter(([name]) =>
    SOURCES.includes(name),
  );
  const optional = sources.map(([name, source]) => {
    const { required: _r, ...others } = isObject(source) ? source : {};
    return [name, others];
  });
  return optional.length > 0
    ? { ...rest, properties: Object.fromEntries(optional) }
    : undefined;
}

/** The names of properties that a schema knows below a path. */
function propertiesAt(root: JsonValue | undefined, path: string[]): string[] {
  function visit(
    schema: JsonValue | undefined,
    [name, ...rest]: string[],
  ): string[] {
    if (!isObject(schema)) {
      return [];
    }
    const alternatives = ['allOf', 'anyOf', 'oneOf'].flatMap(key =>
      Array.isArray(schema[key]) ? (schema[key] as JsonValue[]) : [],
    );
    const referenced = resolveReference(root, schema.$ref);
    const properties = isObject(schema.properties) ? schema.properties : {};
    return [
      ...(name === undefined
        ? Object.keys(properties)
        : visit(properties[name], rest)),
      ...[...alternatives, referenced].flatMap(other =>
        visit(other, name === undefined ? [] : [name, ...rest]),
      ),
    ];
  }
  return visit(root, path);
}

function resolveReference(
  root: JsonValue | undefined,
  reference: JsonValue | undefined,
): JsonValue | undefined {
  const definitions = isObject(root) ? root.definitions : undefined;
  const [, name] = /^#\/definitions\/(.+)$/.exec(String(reference)) ?? [];
  return name && isObject(definitions)
    ? definitions[decodeURIComponent(name)]
    : undefined;
}

function checkNames(
  value: JsonValue | undefined,
  known: ReadonlySet<string>,
  path: string,
): void {
  const names = isObject(value) ? Object.keys(value) : [];
  const unknown = names.find(name => !known.has(name));
  if (unknown !== undefined) {
    const expected = [...known].sort().join(', ') || 'none: no module has any';
    throw new InputError(
      `${path}.${unknown}: no module of this backend has it; expected ${expected}`,
    );
  }
}

/** The messages of Ajv name the place and the expected form, never the value. */
function describe(error: unknown): string {
  const messages = (error as { messages?: string[] }).messages ?? [];
  return messages.length > 0
    ? messages.map(message => message.replace(/^Config /, '')).join('; ')
    : 'The configuration does not match the schemas of the modules of this backend';
}
