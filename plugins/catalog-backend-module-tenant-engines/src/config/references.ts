import { InputError } from '@backstage/errors';
import type { JsonObject, JsonValue } from '@backstage/types';
import { constants, promises as fs } from 'fs';
import { join, sep } from 'path';

/** The longest secret that a file may hold. */
const MAX_FILE_BYTES = 64 * 1024;
/** Of all references together: each may be repeated thousands of times. */
const MAX_CHARACTERS = 1024 * 1024;
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The secrets that a tenant's own configuration may reference. */
export interface SecretScope {
  tenantSlug: string;
  /** Names of environment variables. */
  variables: readonly string[];
  /** The folder whose subfolder for the tenant has its files. */
  secretsDirectory?: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Where a string comes from: `reference` if it is what one variable or file holds,
 * `mixed` if it has other parts too, `literal` otherwise.
 */
export type Origin = 'literal' | 'reference' | 'mixed';

/** A configuration after its references were replaced. */
export interface ResolvedConfig {
  data: JsonObject;
  /** Where the value at a path comes from, such as `integrations.github[0].token`. */
  originAt(path: string): Origin;
  /** The values of the references. */
  secrets: readonly string[];
}

/**
 * Replaces `${VARIABLE}` and `{ "$file": "name" }` by their values.
 *
 * Not by Backstage's own transform, which also includes other files, falls back to defaults,
 * and does not name the path of a missing variable.
 *
 * @throws InputError that names the path and the reference, and no secret
 */
export async function resolveReferences(
  config: JsonObject,
  scope: SecretScope,
): Promise<ResolvedConfig> {
  const origins = new Map<string, Origin>();
  const secrets = new Set<string>();
  let characters = 0;
  const use = (secret: string, path: string) => {
    characters += secret.length;
    if (characters > MAX_CHARACTERS) {
      throw new InputError(
        `${path}: expected at most ${MAX_CHARACTERS} characters of secrets in the configuration`,
      );
    }
    secrets.add(secret);
    return secret;
  };
  // A key with a dot in it may have the path of another value: neither may then pass for a text
  // without a secret.
  const note = (path: string, origin: Origin) =>
    origins.set(path, origins.has(path) ? 'mixed' : origin);

  async function resolve(value: JsonValue, path: string): Promise<JsonValue> {
    if (typeof value === 'string') {
      const { text, origin } = substitute(value, name =>
        use(variableOf(name, path, scope), path),
      );
      note(path, origin);
      return text;
    }
    if (Array.isArray(value)) {
      const items: JsonValue[] = [];
      for (const [i, item] of value.entries()) {
        items.push(await resolve(item, `${path}[${i}]`));
      }
      return items;
    }
    if (value === null || typeof value !== 'object') {
      return value;
    }
    const special = Object.keys(value).find(key => key.startsWith('$'));
    if (special !== undefined) {
      note(path, 'reference');
      const name = fileNameOf(value, special, path);
      return use(await readSecretFile(name, path, scope), path);
    }
    const resolved: JsonObject = {};
    for (const [key, item] of Object.entries(value)) {
      resolved[key] = await resolve(
        item as JsonValue,
        path ? `${path}.${key}` : key,
      );
    }
    return resolved;
  }

  const data = (await resolve(config, '')) as JsonObject;
  return {
    data,
    originAt: path => origins.get(path) ?? 'literal',
    secrets: [...secrets],
  };
}

function substitute(
  value: string,
  secretOf: (name: string) => string,
): { text: string; origin: Origin } {
  // As in Backstage: `$${` stands for `${`.
  const parts = value.split(/(\$?\$\{[^{}]*\})/);
  let references = 0;
  for (let i = 1; i < parts.length; i += 2) {
    if (parts[i].startsWith('$$')) {
      parts[i] = parts[i].slice(1);
    } else {
      parts[i] = secretOf(parts[i].slice(2, -1).trim());
      references += 1;
    }
  }
  const text = parts.join('');
  if (references === 0) {
    return { text, origin: 'literal' };
  }
  const only = parts.length === 3 && parts[0] === '' && parts[2] === '';
  return { text, origin: only ? 'reference' : 'mixed' };
}

function variableOf(name: string, path: string, scope: SecretScope): string {
  if (!VARIABLE.test(name)) {
    throw new InputError(
      `${path}: '\${${shorten(
        name,
      )}}' is not a reference; expected \${NAME}, without a ` +
        'fallback, or $${ for the characters themselves',
    );
  }
  if (!scope.variables.includes(name)) {
    throw new InputError(
      `${path}: the variable ${shorten(
        name,
      )} does not belong to this tenant; expected one ` +
        `of those that the operator lists in tenancy.tenants.${scope.tenantSlug}.secrets`,
    );
  }
  const value = Object.hasOwn(scope.env, name)
    ? scope.env[name]?.trim()
    : undefined;
  if (!value) {
    throw new InputError(
      `${path}: the variable ${name} is not set in the environment of the backend`,
    );
  }
  return value;
}

function fileNameOf(value: JsonObject, key: string, path: string): string {
  if (key !== '$file') {
    throw new InputError(
      `${path}: '${shorten(key)}' is not possible here; expected \${NAME} or ` +
        '{ "$file": "name" } as a reference to a secret',
    );
  }
  const name = value[key];
  if (Object.keys(value).length !== 1) {
    throw new InputError(`${path}: expected no property beside $file`);
  }
  if (typeof name !== 'string' || !FILE_NAME.test(name)) {
    throw new InputError(
      `${path}: expected the plain name of a file in $file, without a path`,
    );
  }
  return name;
}

async function readSecretFile(
  name: string,
  path: string,
  { secretsDirectory, tenantSlug }: SecretScope,
): Promise<string> {
  if (!secretsDirectory) {
    throw new InputError(
      `${path}: $file needs tenancy.engines.secretsDirectory, which is not configured`,
    );
  }
  const missing = () =>
    new InputError(
      `${path}: there is no readable file '${name}' of this tenant in the secrets ` +
        'directory',
    );
  const folder = await fs
    .realpath(join(secretsDirectory, tenantSlug))
    .catch(() => undefined);
  // Kubernetes mounts secrets as links to a hidden folder beside them: links are
  // followed, but not out of the tenant's own folder.
  const file = await fs
    .realpath(join(secretsDirectory, tenantSlug, name))
    .catch(() => undefined);
  if (folder === undefined || file === undefined) {
    throw missing();
  }
  if (!file.startsWith(folder + sep)) {
    throw missing();
  }
  // The resolved path has no link. With O_NONBLOCK, a pipe does not block.
  const handle = await fs
    .open(
      file,
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
    .catch(() => undefined);
  if (!handle) {
    throw missing();
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) {
      throw missing();
    }
    const secret = (await handle.readFile('utf8')).trimEnd();
    if (!secret) {
      throw new InputError(`${path}: the file '${name}' is empty`);
    }
    return secret;
  } finally {
    await handle.close();
  }
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
