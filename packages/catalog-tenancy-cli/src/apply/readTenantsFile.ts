import { InputError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  catalogConfigSchema,
  createShareSchema,
  createTenantSchema,
  putMemberSchema,
  putTenantSignInSchema,
} from 'backstage-plugin-tenants-common';
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';

const { tenant_slug, tenant_name, ...limits } = createTenantSchema.shape;
const { owner, position, ...shared } = createShareSchema.shape;

const share = z.strictObject(
  {
    ...shared,
    owner: owner.default(null),
    position: position.default(100),
  },
  { error: 'an object with filter and targets' },
);

const tenant = z.strictObject(
  {
    slug: tenant_slug,
    name: tenant_name,
    limits: z.strictObject(limits, { error: 'an object' }).default({}),
    members: z
      .record(z.string().min(1), putMemberSchema.shape.role, {
        error: 'an object with the role of each member',
      })
      .optional(),
    sources: catalogConfigSchema.optional(),
    shares: z.array(share, { error: 'a list of shares' }).optional(),
    sign_in: putTenantSignInSchema.nullable().optional(),
  },
  { error: 'an object with slug and name' },
);

const file = z
  .strictObject(
    { tenants: z.array(tenant, { error: 'a list of tenants' }) },
    { error: 'an object with tenants' },
  )
  .superRefine(({ tenants }, context) => {
    tenants.forEach(({ slug, members = {} }, index) => {
      const principals = Object.keys(members).map(principalOf);
      Object.keys(members).forEach((name, place) => {
        if (principals.indexOf(principals[place]) < place) {
          context.addIssue({
            code: 'custom',
            path: ['tenants', index, 'members', name],
            message: 'a reference that no other member has in other letters',
          });
        }
      });
      if (tenants.findIndex(each => each.slug === slug) < index) {
        context.addIssue({
          code: 'custom',
          path: ['tenants', index, 'slug'],
          message: `another slug than '${slug}', which an earlier tenant has`,
        });
      }
    });
  });

/** A member as the registry has it, which has references in lower case. */
export function principalOf(name: string): string {
  return /^(user|group):/i.test(name) ? name.toLowerCase() : name;
}

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
  return parseInput(file, document.toJS(), path).tenants;
}
