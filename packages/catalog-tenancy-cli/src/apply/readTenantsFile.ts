import { InputError } from '@backstage/errors';
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);
const role = z.enum(['viewer', 'member', 'admin']);

const share = z.strictObject({
  filter: z.array(z.string().min(1)).min(1),
  targets: z.union([z.literal('all'), z.array(z.string()).min(1)]),
  owner: z.string().nullable().default(null),
  position: count(0).default(100),
});

const signIn = z.strictObject({
  issuer: z.string(),
  client_id: z.string(),
  client_secret: z.union([z.string(), z.strictObject({ $file: z.string() })]),
  scopes: z.array(z.string()).optional(),
  // As the registry keeps them.
  allowed_domains: z.array(z.string().toLowerCase()).optional(),
  auto_join: role.optional(),
  name_claim: z.string().optional(),
  email_claim: z.string().optional(),
  groups_claim: z.string().optional(),
  roles: z.record(z.string(), role).optional(),
});

const tenant = z.strictObject({
  slug: z.string().regex(/^[a-z0-9-]{1,63}$/, {
    error: '1 to 63 characters of a-z, 0-9 and -',
  }),
  name: z.string().min(1).max(255),
  limits: z
    .strictObject({
      max_entities: count(0).optional(),
      entity_ttl_days: count(1).optional(),
      concurrency: count(1).nullable().optional(),
      requests_per_second: count(1).nullable().optional(),
      burst: count(1).nullable().optional(),
    })
    .default({}),
  members: z.record(z.string().min(1), role).optional(),
  sources: z
    .strictObject({
      catalog: z.record(z.string(), z.unknown()).optional(),
      integrations: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  shares: z.array(share).optional(),
  sign_in: signIn.nullable().optional(),
});

const file = z
  .strictObject({ tenants: z.array(tenant) })
  .superRefine(({ tenants }, context) => {
    tenants.forEach(({ slug }, index) => {
      if (tenants.findIndex(each => each.slug === slug) < index) {
        context.addIssue({
          code: 'custom',
          path: ['tenants', index, 'slug'],
          message: `another slug than '${slug}', which an earlier tenant has`,
        });
      }
    });
  });

/** A tenant as the file wants it. A section that is not there stays as it is. */
export type WantedTenant = z.infer<typeof tenant>;

/** A share as the file wants it. */
export type WantedShare = z.infer<typeof share>;

/** @throws InputError that names each bad value by its path in the file */
export async function readTenantsFile(path: string): Promise<WantedTenant[]> {
  const text = await readFile(path, 'utf8').catch(error => {
    throw new InputError(`Can't read ${path}: ${error.code ?? error.message}`);
  });
  return parseTenants(text, path);
}

/** The same of a text. */
export function parseTenants(text: string, path: string): WantedTenant[] {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) {
    throw new InputError(`${path} is not valid YAML: ${error.message}`);
  }
  const parsed = file.safeParse(document.toJS());
  if (!parsed.success) {
    throw new InputError(
      [
        `${path} is not as expected:`,
        ...parsed.error.issues.map(
          issue => `  ${pathOf(issue.path)}: ${issue.message}`,
        ),
      ].join('\n'),
    );
  }
  return parsed.data.tenants;
}

function pathOf(path: PropertyKey[]): string {
  return path.reduce<string>((before, key) => {
    if (typeof key === 'number') {
      return `${before}[${key}]`;
    }
    const name = String(key);
    if (!/^[\w-]+$/.test(name)) {
      return `${before}[${JSON.stringify(name)}]`;
    }
    return before ? `${before}.${name}` : name;
  }, '');
}
