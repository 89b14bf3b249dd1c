import {
  type AcceptInvitation,
  type CreateInvitation,
  TENANT_ROLES,
} from 'backstage-plugin-tenants-common';
import { z } from 'zod';
import { integer, parseInput } from '../tenants/input';

const MOST_DAYS = 90;
const LONGEST_ADDRESS = 254;
const ADDRESS = `an e-mail address of at most ${LONGEST_ADDRESS} characters`;

const createSchema = z.strictObject(
  {
    role: z.enum(TENANT_ROLES, { error: '"viewer", "member" or "admin"' }),
    email: z
      .string({ error: ADDRESS })
      .max(LONGEST_ADDRESS, ADDRESS)
      .regex(
        /^[^\s\p{Cc}\p{Surrogate}@]+@[^\s\p{Cc}\p{Surrogate}@]+$/u,
        ADDRESS,
      )
      .transform(normalizeAddress)
      .optional(),
    valid_days: integer(1, MOST_DAYS).default(7),
  },
  { error: 'an object with role' },
);

const acceptSchema: z.ZodType<AcceptInvitation> = z.strictObject(
  {
    token: z
      .string({ error: 'the token of an invitation' })
      .max(200, 'the token of an invitation'),
  },
  { error: 'an object with token' },
);

/**
 * Parses an invitation that is to be made, and fills in the default.
 *
 * @throws `InputError` that names each bad value and the form that was expected
 * @public
 */
export function parseCreateInvitation(
  input: unknown,
): CreateInvitation & { valid_days: number } {
  return parseInput(createSchema, input, 'invitation');
}

/**
 * Parses what accepts an invitation.
 *
 * @throws `InputError` that names each bad value and the form that was expected
 * @public
 */
export function parseAcceptInvitation(input: unknown): AcceptInvitation {
  return parseInput(acceptSchema, input, 'request');
}

/** Mail servers compare the names of hosts in any case, and hardly one those of people in one. */
export function normalizeAddress(address: string): string {
  return address.trim().toLocaleLowerCase('en-US');
}
