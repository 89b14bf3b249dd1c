import type { MutationCheck } from './MutationCheck';

const MODULE = 'plugins/catalog-backend-module-tenancy/src';
const MOCKUP = 'plugins/mockup-backend';
const TENANTS = 'plugins/tenants-backend/src';

/** What keeps the mockups of tenants apart. */
const mockupChecks: MutationCheck[] = [
  {
    name: 'the predicate on the mockup of a write',
    edits: [
      {
        file: `${MOCKUP}/src/database/statements.ts`,
        find: 'const AT_REVISION = `mockups.tenant_id = :tenantId and mockups.id = :id',
        replace: 'const AT_REVISION = `mockups.id = :id',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'what a caller may change, as a part of the write',
    edits: [
      {
        file: `${MOCKUP}/src/database/statements.ts`,
        find: 'mockups.id = :id\n  and :allowed\n',
        replace: 'mockups.id = :id\n',
      },
    ],
    tests: [`${MOCKUP}/src/http/shares.test.ts`],
  },
  {
    name: 'what a caller may read, as a part of the read of a version',
    edits: [
      {
        file: `${MOCKUP}/src/database/statements.ts`,
        find: 'mockups.id = :mockupId and :allowed)`;',
        replace: 'mockups.id = :mockupId)`;',
      },
    ],
    tests: [
      `${MOCKUP}/src/authorization/permissions.test.ts`,
      `${MOCKUP}/src/database/MockupStore.shares.test.ts`,
    ],
  },
  {
    name: 'that sharing for reading is not for writing',
    edits: [
      {
        file: `${MOCKUP}/src/database/filter.ts`,
        find: "filter.access === 'write'",
        replace: "filter.access === 'read' && false",
      },
    ],
    tests: [`${MOCKUP}/src/http/shares.test.ts`],
  },
  {
    name: 'the predicate on lists of mockups',
    edits: [
      {
        file: `${MOCKUP}/src/database/PostgresMockupStore.ts`,
        find: "builder.where('mockups.tenant_id', this.#tenantId);",
        replace: '',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'the tenant of the mockup that is duplicated',
    edits: [
      {
        file: `${MOCKUP}/src/database/statements.ts`,
        find: 'where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed\n  ),',
        replace: 'where mockups.id = :id and :allowed\n  ),',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'that a list of mockups comes to those changed by writes that were under way',
    edits: [
      {
        file: `${MOCKUP}/src/database/paging.ts`,
        find: 'and not ${SEEN_BY_SNAPSHOT})`;',
        replace: 'and mockups.updated_at > cast(:since as timestamp))`;',
      },
    ],
    tests: [`${MOCKUP}/src/http/paging.test.ts`],
  },
  {
    name: 'that an import is one transaction',
    edits: [
      {
        file: `${MOCKUP}/src/database/TenantStatements.ts`,
        find: 'return this.knex.transaction(work, { isolationLevel: ISOLATION });',
        replace:
          'return work(this.knex as unknown as Parameters<typeof work>[0]);',
      },
    ],
    tests: [`${MOCKUP}/src/http/files.test.ts`],
  },
  {
    name: 'the tenant of a mockup that is restored from the trash',
    edits: [
      {
        file: `${MOCKUP}/src/database/statements.ts`,
        find: 'where mockups.tenant_id = :tenantId and mockups.id = :id and :allowed\n    returning *',
        replace: 'where mockups.id = :id and :allowed\n    returning *',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'the right to change no more of a version than its tag',
    edits: [
      {
        file: `${MOCKUP}/src/database/rowSecurity.ts`,
        find: "'update (version_tag)'",
        replace: "'update'",
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'row-level security on the tables of mockups',
    edits: [
      {
        file: `${MOCKUP}/src/database/rowSecurity.ts`,
        find: '`alter table ${table} enable row level security`',
        replace: '`lock table ${table} in access share mode`',
      },
      {
        file: `${MOCKUP}/src/database/rowSecurity.ts`,
        find: 'if (rows[0].enabled) {',
        replace: 'if (rows[0].enabled || attempt > 1) {',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'the role that the policies on mockups bind',
    edits: [
      {
        file: `${MOCKUP}/src/database/TenantStatements.ts`,
        find: 'this.#role !== undefined &&',
        replace: 'this.#role === null &&',
      },
    ],
    tests: [`${MOCKUP}/src/database/tenants.test.ts`],
  },
  {
    name: 'the tenant of a request for mockups',
    edits: [
      {
        file: `${MOCKUP}/src/plugin.ts`,
        find: 'store: stores.forTenant(tenantOf(req).tenantId),',
        replace: 'store: stores.forTenant(tenantOf(req) && TENANTS_DEFAULT),',
      },
      {
        file: `${MOCKUP}/src/plugin.ts`,
        find: 'function createPlugin(',
        replace:
          "const TENANTS_DEFAULT = '00000000-0000-0000-0000-000000000001';\n\nfunction createPlugin(",
      },
    ],
    tests: [`${MOCKUP}/src/http/tenants.test.ts`],
  },
];

/** What keeps tenants apart where plugins call each other, and in the plugin `mockup`. */
export const callChecks: MutationCheck[] = [
  ...mockupChecks,
  {
    name: 'the tenant of a call that another plugin makes',
    edits: [
      {
        file: `${MODULE}/calls/carryTenants.ts`,
        find: 'return tenant && tenantId !== DEFAULT_TENANT_ID',
        replace: 'return tenant && tenantId === DEFAULT_TENANT_ID',
      },
    ],
    tests: [`${MODULE}/calls/calls.test.ts`],
  },
  {
    name: 'the refusal of a call for another tenant than that of the request',
    edits: [
      {
        file: `${MODULE}/calls/carryTenants.ts`,
        find: 'handled.tenantId !== tenantId &&',
        replace: 'handled.tenantId === undefined &&',
      },
    ],
    tests: [`${MODULE}/calls/calls.test.ts`],
  },
  {
    name: 'the refusal of a call that names a second tenant',
    edits: [
      {
        file: `${MODULE}/resolution/TenantResolver.ts`,
        find: 'named.slug !== called',
        replace: 'named.slug === undefined',
      },
    ],
    tests: [`${MODULE}/calls/calls.test.ts`],
  },
  {
    name: 'the decision of conditions on the row of the tenant',
    edits: [
      {
        file: `${MODULE}/routes/applyConditions.ts`,
        find: 'store.readEntitiesByRefs(tenantId, refs)',
        replace: 'store.readEntitiesByRefs(DEFAULT_TENANT_ID, refs)',
      },
    ],
    tests: [`${MODULE}/calls/calls.test.ts`],
  },
  {
    name: 'the default tenant as the one whose users and groups become members',
    edits: [
      {
        file: `${TENANTS}/identity/IdentityCatalog.ts`,
        find: 'const credentials = withTenant(IDENTITIES, caller);',
        replace: 'const credentials = caller;',
      },
    ],
    tests: [`${MODULE}/gate/principals.test.ts`],
  },
  {
    name: 'the refusal to find users and groups for a service',
    edits: [
      {
        file: `${TENANTS}/identity/IdentityCatalog.ts`,
        find: "if (caller.principal.type !== 'user') {",
        replace: 'if (!caller.principal.type) {',
      },
    ],
    tests: [`${TENANTS}/http/principals.test.ts`],
  },
  {
    name: 'the configuration of an engine that somebody else has changed',
    edits: [
      {
        file: 'plugins/catalog-tenancy-node/src/engines/PostgresTenantEngineStore.ts',
        find: 'options.ifRevisionIn?.includes(configRevisionOf(before)) === false',
        replace: 'options.ifRevisionIn?.includes(tenantSlug)',
      },
    ],
    tests: [`${TENANTS}/http/engines.test.ts`],
  },
  {
    name: 'the hosts whose pages get the token of a sign-in',
    edits: [
      {
        file: 'app-config.oidc.yaml',
        find: "    ['https://+([a-z0-9-]).${TENANCY_BASE_DOMAIN}']",
        replace: "    ['https://*.${TENANCY_BASE_DOMAIN}']",
      },
    ],
    tests: ['packages/backend/dev/signIn.test.ts'],
  },
];
