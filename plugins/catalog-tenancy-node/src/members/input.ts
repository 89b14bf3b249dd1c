import { InputError } from '@backstage/errors';
import {
  type FindPrincipals,
  TENANT_ROLES,
} from 'backstage-plugin-tenants-common';
import { z } from 'zod';
import { integer, pageFields, parseInput } from '../tenants/input';
import { parsePrincipal } from './principals';
import type { ListMembers, PutMember } from './TenantMembers';

const listMembersSchema: z.ZodType<Required<ListMembers>> = z.strictObject(
  pageFields,
  { error: 'an object' },
);

const putMemberSchema: z.ZodType<PutMember> = z.strictObject(
  { role: z.enum(TENANT_ROLES, { error: '"viewer", "member" or "admin"' }) },
  { error: 'an object with role' },
);

const LONGEST_SEARCH = 100;
const MOST_PRINCIPALS = 50;

// Beside what nobody types: PostgreSQL keeps no NUL character, and a lone surrogate has no
// UTF-8 form.
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

const findPrincipalsSchema = z.strictObject(
  {
    search: z
      .string({ error: 'a text' })
      .transform(text => text.trim())
      .refine(
        text =>
          text.length > 0 && text.length <= LONGEST_SEARCH && !UNFIT.test(text),
        `a text of 1 to ${LONGEST_SEARCH} characters without control characters`,
      )
      .optional(),
    principal: z
      .array(z.string(), { error: 'a list of references' })
      .min(1, 'a list of references')
      .max(MOST_PRINCIPALS, `at most ${MOST_PRINCIPALS} references`)
      .optional(),
    limit: integer(1, MOST_PRINCIPALS).default(20),
  },
  { error: 'an object' },
);

/**
 * Parses which part of a list is asked for, and fills in the defaults.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseListMembers(input: unknown): Required<ListMembers> {
  return parseInput(listMembersSchema, input, 'query');
}

/**
 * Parses what a member of a tenant is to be.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parsePutMember(input: unknown): PutMember {
  return parseInput(putMemberSchema, input, 'member');
}

/**
 * Parses which users and groups are asked for, and fills in the default.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseFindPrincipals(
  input: unknown,
): FindPrincipals & { limit: number } {
  const { principal, ...query } = parseInput(
    findPrincipalsSchema,
    input,
    'query',
  );
  if (principal && query.search !== undefined) {
    throw new InputError(
      'Invalid query: expected either search or principal, got both',
    );
  }
  return principal
    ? { ...query, principals: principal.map(parsePrincipal) }
    : query;
}
