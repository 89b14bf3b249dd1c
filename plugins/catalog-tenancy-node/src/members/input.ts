import { z } from 'zod';
import { pageFields, parseInput } from '../tenants/input';
import type { ListMembers, PutMember } from './TenantMembers';

const listMembersSchema: z.ZodType<Required<ListMembers>> = z.strictObject(
  pageFields,
  { error: 'an object' },
);

const putMemberSchema: z.ZodType<PutMember> = z.strictObject(
  { role: z.enum(['member', 'admin'], { error: '"member" or "admin"' }) },
  { error: 'an object with role' },
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
