import { InputError } from '@backstage/errors';
import type { z } from 'zod';
import { parseInput } from '@internal/http-client';
import { listTenantAuditSchema } from './audit';
import {
  acceptInvitationSchema,
  createInvitationSchema,
  findPrincipalsSchema,
} from './members';
import { createShareSchema, updateShareSchema } from './shares';
import { putTenantSignInSchema } from './signIn';
import {
  createTenantSchema,
  listTenantsQuerySchema,
  listTenantsSchema,
  updateTenantSchema,
} from './tenants';

const VALID = { tenant_slug: 'acme', tenant_name: 'Acme' };
const SLUG = '1 to 63 characters of a-z, 0-9 and -';
const NAME = 'a text of 1 to 255 characters';

const parseCreateTenant = (input: unknown) =>
  parseInput(createTenantSchema, input, 'tenant');
const parseUpdateTenant = (input: unknown) =>
  parseInput(updateTenantSchema, input, 'changes to a tenant');
const parseListTenants = (input: unknown) =>
  parseInput(listTenantsSchema, input, 'query');

function messageOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return (error as Error).message;
  }
  throw new Error('It was accepted');
}

describe('a tenant', () => {
  it.each(['a', '0', '-', '-a-', 'a--b', 'default', 'www2', 'a'.repeat(63)])(
    'may have the slug %j',
    tenant_slug => {
      expect(parseCreateTenant({ ...VALID, tenant_slug })).toEqual({
        ...VALID,
        tenant_slug,
      });
    },
  );

  it.each([
    ['', '""'],
    ['Acme', '"Acme"'],
    ['a_b', '"a_b"'],
    ['ä', '"ä"'],
    ['a'.repeat(64), `"${'a'.repeat(60)}…`],
  ])('may not have the slug %j', (tenant_slug, shown) => {
    const message = messageOf(() =>
      parseCreateTenant({ ...VALID, tenant_slug }),
    );
    expect(message).toContain(`tenant_slug must be ${SLUG}, got `);
    expect(message).toContain(shown.slice(0, 61));
  });

  it('has a name of 1 to 255 characters, as PostgreSQL counts them', () => {
    const names = ['x', ' ', 'Ünïcode', 'a'.repeat(255), '🙂'.repeat(255)];
    for (const tenant_name of names) {
      expect(parseCreateTenant({ ...VALID, tenant_name })).toMatchObject({
        tenant_name,
      });
    }
    for (const tenant_name of [
      ...['', 'a'.repeat(256), '🙂'.repeat(256)],
      ...['a\0b', '\ud800', 7, null],
    ]) {
      expect(
        messageOf(() => parseCreateTenant({ ...VALID, tenant_name })),
      ).toContain(`tenant_name must be ${NAME}`);
    }
  });

  it.each([
    ['max_entities', 0, 2_147_483_647],
    ['entity_ttl_days', 1, 2_147_483_647],
  ])('has %s from %d to %d', (field, least, most) => {
    for (const value of [least, most]) {
      const tenant = { ...VALID, [field]: value };
      expect(parseCreateTenant(tenant)).toEqual(tenant);
      expect(parseUpdateTenant({ [field]: value })).toEqual({ [field]: value });
    }
    for (const value of [least - 1, most + 1, 1.5, '10', null, true, 1e300]) {
      for (const parse of [
        () => parseCreateTenant({ ...VALID, [field]: value }),
        () => parseUpdateTenant({ [field]: value }),
      ]) {
        expect(messageOf(parse)).toContain(
          `${field} must be an integer from ${least} to ${most}, got `,
        );
      }
    }
  });

  it.each([
    ['concurrency', 10_000],
    ['requests_per_second', 1_000_000],
  ])('has %s from 1 to %d, or the default', (field, most) => {
    for (const value of [1, most, null]) {
      const tenant = { ...VALID, [field]: value };
      expect(parseCreateTenant(tenant)).toEqual(tenant);
      expect(parseUpdateTenant({ [field]: value })).toMatchObject({
        [field]: value,
      });
    }
    for (const value of [0, -1, most + 1, 1.5, '10', true, [1], {}]) {
      for (const parse of [
        () => parseCreateTenant({ ...VALID, [field]: value }),
        () => parseUpdateTenant({ [field]: value }),
      ]) {
        expect(messageOf(parse)).toContain(
          `${field} must be an integer from 1 to ${most}, or null for the default, got `,
        );
      }
    }
  });

  it('has a burst of a rate that comes with it, and none without a rate', () => {
    const rate = { requests_per_second: 50, burst: 200 };
    for (const limits of [rate, { ...rate, burst: null }, { burst: null }]) {
      const tenant = { ...VALID, ...limits };
      expect(parseCreateTenant(tenant)).toEqual(tenant);
      expect(parseUpdateTenant(limits)).toEqual(limits);
    }
    expect(parseUpdateTenant({ requests_per_second: null })).toEqual({
      requests_per_second: null,
      burst: null,
    });
    for (const limits of [
      { burst: 200 },
      { burst: 200, requests_per_second: null },
    ]) {
      for (const parse of [
        () => parseCreateTenant({ ...VALID, ...limits }),
        () => parseUpdateTenant(limits),
      ]) {
        expect(messageOf(parse)).toMatch(
          /: burst must be null, or come together with requests_per_second, got 200$/,
        );
      }
    }
  });

  it.each([
    [undefined, 'it is missing, expected an object with tenant_slug and'],
    [null, 'it must be an object with tenant_slug and tenant_name, got null'],
    [{}, `tenant_slug is missing, expected ${SLUG}; tenant_name is missing`],
    [{ ...VALID, tenant_id: 'x' }, 'unknown field "tenant_id"'],
  ])('is not %j', (input, message) => {
    expect(messageOf(() => parseCreateTenant(input))).toContain(message);
  });
});

describe('changes to a tenant', () => {
  it('are one or more of its name and its limits', () => {
    for (const changes of [
      { tenant_name: 'Acme' },
      { max_entities: 1, entity_ttl_days: 2 },
    ]) {
      expect(parseUpdateTenant(changes)).toEqual(changes);
    }
    for (const nothing of [{}, { tenant_name: undefined }, undefined, 'x']) {
      expect(messageOf(() => parseUpdateTenant(nothing))).toContain(
        'an object with one or more of tenant_name, max_entities, entity_ttl_days, concurrency, requests_per_second and burst',
      );
    }
  });
});

describe('a list of tenants', () => {
  it('is of 100 that are not deleted unless it is asked for otherwise', () => {
    expect(parseListTenants({})).toEqual({
      deleted: false,
      limit: 100,
      offset: 0,
      search: '',
    });
    const all = { deleted: true, limit: 500, offset: 7, search: 'x' };
    expect(parseListTenants(all)).toEqual(all);
  });

  it.each([
    [{ limit: 0 }, 'limit must be an integer from 1 to 500, got 0'],
    [{ limit: 501 }, 'limit must be an integer from 1 to 500, got 501'],
    [{ offset: -1 }, 'offset must be an integer from 0 to'],
    [{ search: 'x'.repeat(256) }, 'search must be a text of at most 255'],
    [{ search: '\ud800' }, 'without NUL characters and lone surrogates'],
    [{ order: 'x' }, 'unknown field "order"'],
  ])('is not %j', (input, message) => {
    expect(messageOf(() => parseListTenants(input))).toContain(message);
  });
});

const INVITATION = { role: 'viewer' };
const SHARE = { targets: ['acme'], filter: ['kind=template'] };

it.each<[z.ZodType, object, string]>([
  [createTenantSchema, { ...VALID, tenant_slug: 'mine' }, 'other than www and'],
  [findPrincipalsSchema, { search: 'x'.repeat(101) }, 'search must be a text'],
  [findPrincipalsSchema, { principal: Array(51).fill('x') }, 'at most 50 ref'],
  [createInvitationSchema, { ...INVITATION, valid_days: 91 }, 'from 1 to 90'],
  [
    createInvitationSchema,
    { ...INVITATION, email: `${'a'.repeat(250)}@b.cd` },
    'an e-mail address of at most 254 characters',
  ],
  [createInvitationSchema, { ...INVITATION, email: 'a b@c' }, 'an e-mail'],
  [acceptInvitationSchema, { token: 'x'.repeat(201) }, 'token must be the'],
  [createShareSchema, { ...SHARE, filter: Array(21).fill('a') }, 'at most 20'],
  [createShareSchema, { ...SHARE, filter: ['x'.repeat(1001)] }, 'at most 1000'],
  [createShareSchema, { ...SHARE, filter: ['kind=a\0'] }, 'texts such as'],
  [
    createShareSchema,
    { ...SHARE, targets: Array(1001).fill('a') },
    '1 to 1000',
  ],
  [createShareSchema, { ...SHARE, owner: `a:${'b'.repeat(254)}` }, 'most 255'],
  [createShareSchema, { ...SHARE, position: 1001 }, 'from 0 to 1000'],
  [
    updateShareSchema,
    {},
    'it must be an object with targets, filter, owner or',
  ],
  [listTenantAuditSchema, { actor: 'x'.repeat(201) }, 'of 1 to 200 characters'],
  [listTenantAuditSchema, { event: 'a\0' }, 'event must be a text of 1 to 200'],
  [listTenantAuditSchema, { limit: 501 }, 'limit must be an integer from 1 to'],
  [listTenantsQuerySchema, { summary: true, limit: 101 }, 'at most 100 with'],
  [listTenantsQuerySchema, { state: 'running' }, 'left out without summary'],
  [listTenantsQuerySchema, { orderBy: 'name' }, 'left out without summary'],
])('what is beyond its bounds is refused: %#', (schema, input, message) => {
  expect(messageOf(() => parseInput(schema, input, 'input'))).toContain(
    message,
  );
});

it('domains of addresses are compared in lower case', () => {
  const { allowed_domains } = putTenantSignInSchema.shape;
  expect(allowed_domains.parse(['Example.com'])).toEqual(['example.com']);
});
