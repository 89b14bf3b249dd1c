import { InputError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type ListTenantUsage,
  listTenantUsageSchema,
} from 'backstage-plugin-tenants-common';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 400;

/** The day of a time, in UTC. */
export function dayOf(time: Date | number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** @throws InputError that names each bad value and the form that was expected */
export function parseListTenantUsage(
  input: unknown,
): Required<ListTenantUsage> {
  const given = parseInput(listTenantUsageSchema, input, 'query');
  const to = given.to ?? dayOf(Date.now());
  const from =
    given.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1 || days > MOST_DAYS) {
    throw new InputError(
      `Invalid query: from must be at most ${MOST_DAYS} days before to, and not after it, got ${from} and ${to}`,
    );
  }
  return { from, to };
}
