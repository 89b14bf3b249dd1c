/** A change to a file. The text to replace must stand there exactly once. */
export interface Edit {
  /** From the root of the repository. */
  file: string;
  find: string;
  replace: string;
}

/** A guarantee, and how to remove it. */
export interface MutationCheck extends Edit {
  /** What is removed, in a few words. */
  name: string;
  /** Other code that would notice before the test does. */
  also?: Edit[];
  /** A test file of which at least one test must fail then. */
  test: string;
}

const NODE = 'plugins/catalog-tenancy-node/src';
const MODULE = 'plugins/catalog-backend-module-tenancy/src';
const ENGINES = 'plugins/catalog-backend-module-tenant-engines/src';
const MOCKUP = 'plugins/mockup-backend/src';
const MIGRATIONS = 'migrations/src';

/** The migration tries the policies out, and would stop at one that does not hold. */
const untried: Edit[] = [
  {
    file: `${MIGRATIONS}/phases/phase4_row_level_security/50_verification.ts`,
    find: 'for (const table of TENANT_TABLES) {',
    replace: 'for (const table of TENANT_TABLES.slice(3)) {',
  },
];

/** One for each of the main guarantees of docs/integrators/threat-model.md, in its order. */
export const mutationChecks: MutationCheck[] = [
  // In the database.
  {
    name: 'the policy',
    file: `${MIGRATIONS}/schema/policies.ts`,
    find: 'const condition = `tenant_id = ${currentTenant(policyFor)}`;',
    replace: 'const condition = `${currentTenant(policyFor)} is not null`;',
    also: untried,
    test: `${NODE}/database/isolation.test.ts`,
  },
  {
    name: 'FORCE',
    file: `${MIGRATIONS}/schema/policies.ts`,
    find: '    `alter table ${name} force row level security`,\n',
    replace: '',
    test: `${MIGRATIONS}/phases/phase4_row_level_security/isolation.test.ts`,
  },
  {
    name: 'the look of verify at what a policy calls',
    file: `${MIGRATIONS}/checks/isolation.ts`,
    find: 'and d.refobjid is distinct from ${TENANT_REQUIRED_OID}))',
    replace: 'and false))',
    test: `${MIGRATIONS}/checks/bypasses.test.ts`,
  },
  {
    name: 'the tenant in the triggers of adoption',
    file: 'migrations/sql/adoption.sql',
    find: '  delete from entities where tenant_id = p_tenant;\n',
    replace: '  delete from entities;\n',
    test: `${MIGRATIONS}/adopt/tenants.test.ts`,
  },
  {
    name: "the comparison before the migration's swap",
    file: `${MIGRATIONS}/phases/phase5_partitions/70_swap.ts`,
    find: 'refuseProblems(await findCopyProblems(read, copies))',
    replace: 'await findCopyProblems(read, copies)',
    test: `${MIGRATIONS}/phases/phase5_partitions/brokenCopy.test.ts`,
  },

  // On the way of a query.
  {
    name: 'the predicate on tenant_id',
    file: `${NODE}/database/PooledTenantDatabase.ts`,
    find: 'builder.where(`${alias}.tenant_id`, tenantId)',
    replace: 'builder',
    test: `${NODE}/database/isolation.test.ts`,
  },
  {
    name: 'the end of the tenant setting with its transaction',
    file: `${NODE}/pool/statements.ts`,
    find: "select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = '${tenantId}' and current_setting('role') = ${own} and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false)",
    replace: "select '${tenantId}', ${own}",
    test: `${NODE}/database/statements.test.ts`,
  },
  {
    name: 'the tenant of what equal reads share',
    file: `${NODE}/work/Coalescer.ts`,
    find: 'JSON.stringify([tenantId, question]),\n      [],',
    replace: 'JSON.stringify([typeof tenantId, question]),\n      [],',
    test: `${NODE}/work/Coalescer.ask.test.ts`,
  },
  {
    name: 'the user and tenant of a decision that requests share',
    file: `${MODULE}/authorization/AuthorizedCatalogStore.ts`,
    find: '[tenantId, token, principal, queries]',
    replace: '[queries]',
    test: `${MODULE}/authorization/SharedDecisions.test.ts`,
  },
  {
    name: 'the precondition of reads on a replica',
    file: `${NODE}/replica/ReadReplica.ts`,
    find: '        precondition: preconditionOf(required),\n',
    replace: '',
    test: `${NODE}/replica/loss.test.ts`,
  },
  {
    name: "the audit of the administrator's path",
    file: `${NODE}/database/AuditedAdminDatabase.ts`,
    find: '      meta: { reason },\n    });',
    replace:
      '      meta: { reason },\n    }).catch(() => ({ success: noop, fail: noop }));',
    test: `${NODE}/database/AuditedAdminDatabase.test.ts`,
  },

  // Which tenant a request belongs to.
  {
    name: 'the refusal of hosts below no base domain',
    file: `${MODULE}/resolution/hostnames.ts`,
    find: '!this.#baseDomains.has(domain)) {\n      return FOREIGN;',
    replace: '!this.#baseDomains.has(domain)) {\n      return SHARED;',
    test: `${MODULE}/resolution/hostnames.test.ts`,
  },
  {
    name: 'the header that nginx drops',
    file: 'deploy/nginx.conf',
    find: 'proxy_set_header X-Tenant-Slug "";',
    replace: '',
    test: 'packages/backend/dev/deployed.test.ts',
  },
  {
    name: 'the algorithm of tokens',
    file: `${MODULE}/resolution/TenantTokens.ts`,
    find: "algorithms: ['HS256']",
    replace: "algorithms: ['HS256', 'HS384', 'HS512', 'none']",
    test: `${MODULE}/resolution/tokens.test.ts`,
  },
  {
    name: 'the look at deleted tenants',
    file: `${NODE}/tenants/RegistrySnapshot.ts`,
    find: ".whereNull('deleted_at'),",
    replace: '',
    test: `${NODE}/tenants/RegistrySnapshot.tenants.test.ts`,
  },
  {
    name: 'the question whether a caller is a member',
    file: `${MODULE}/gate/Admission.ts`,
    find: "isDefault ? membershipOfDefault === 'everyone' : membership === 'open'",
    replace: "membershipOfDefault === 'everyone' || membership === 'open'",
    test: `${MODULE}/gate/classes.test.ts`,
  },
  {
    name: 'the bounds of roles',
    file: `${MODULE}/gate/narrowPermissions.ts`,
    find: 'const isAsked = queries.map(({ permission }) => isWithin(role, permission));',
    replace: 'const isAsked = queries.map(() => role !== undefined);',
    test: `${MODULE}/gate/roles.test.ts`,
  },
  {
    name: 'plugins that are closed unless they are classified',
    file: `${MODULE}/gate/services.ts`,
    find: '      isShared,\n      instances',
    replace: "      isShared: isShared || pluginId !== '',\n      instances",
    test: `${MODULE}/gate/classes.test.ts`,
  },
  {
    name: 'the gate in front of WebSockets',
    file: `${MODULE}/gate/guardUpgrades.ts`,
    find: '    gate.createRouter((req, _res, next) =>\n      underWay.get(req)!.pass(tenantOf(req), next),\n    ),\n',
    replace: '',
    test: `${MODULE}/gate/sockets.test.ts`,
  },
  {
    name: 'the refusal of the routes of the stock catalog',
    file: `${MODULE}/routes/otherTenants.ts`,
    find: 'if (tenantOf(req).tenantId === DEFAULT_TENANT_ID) {',
    replace: "if (tenantOf(req).tenantId !== '') {",
    test: `${MODULE}/routes/refusal.test.ts`,
  },

  // Engines, and what tenants configure.
  {
    name: 'the search path of a session that another engine has used',
    file: `${ENGINES}/work/SessionPool.ts`,
    find: 'if (schema !== undefined && !session.isIn(schema)) {',
    replace: 'if (schema !== undefined && session.schemaCount === 0) {',
    test: `${ENGINES}/work/EnginePool.test.ts`,
  },
  {
    name: 'the end of a lease by the clock of its process',
    file: `${ENGINES}/leases/ProcessLeases.ts`,
    find: 'return this.#held.has(tenantId) && this.#isValid();',
    replace: 'return this.#held.has(tenantId);',
    test: `${ENGINES}/leases/leases.test.ts`,
  },
  {
    name: "the list of variables that a tenant's configuration may reference",
    file: `${ENGINES}/config/references.ts`,
    find: 'if (!scope.variables.includes(name)) {',
    replace: "if (!scope.variables.includes(name) && name === '') {",
    test: `${ENGINES}/config/validation.test.ts`,
  },
  {
    name: "the addresses inside of the operator's network that a source may not reach",
    file: `${ENGINES}/reach/addresses.ts`,
    find: "return !INTERNAL.check(address, 'ipv4');",
    replace: 'return true;',
    test: `${ENGINES}/reach/reach.test.ts`,
  },

  // Mockups.
  {
    name: 'the predicate on lists of mockups',
    file: `${MOCKUP}/database/PostgresMockupStore.ts`,
    find: "builder.where('mockups.tenant_id', this.#statements.tenantId);",
    replace: '',
    test: `${MOCKUP}/database/tenants.test.ts`,
  },
  {
    name: 'the audience of pages',
    file: `${MOCKUP}/pages/statements.ts`,
    find: 'mockup_pages.audience = any(cast(:audiences as text[]))',
    replace: 'cast(:audiences as text[]) is not null',
    test: `${MOCKUP}/http/pages.test.ts`,
  },
];
