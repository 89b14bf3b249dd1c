import { browserChecks } from './browserChecks';
import { callChecks } from './callChecks';
import { citusChecks } from './citusChecks';
import { engineChecks } from './engineChecks';
import { engineConfigChecks } from './engineConfigChecks';
import { engineTableChecks } from './engineTableChecks';
import { limitChecks } from './limitChecks';
import type { Edit, MutationCheck } from './MutationCheck';
import { replicaChecks } from './replicaChecks';

const NODE = 'plugins/catalog-tenancy-node/src';
const MODULE = 'plugins/catalog-backend-module-tenancy/src';
const MIGRATIONS = 'migrations/src';
const SEARCH = `${MIGRATIONS}/phases/phase5_partitions/90_entity_terms`;

/** The migration tries the policies out, and goes on with none that does not hold. */
const unverified: Edit[] = [
  {
    file: `${MIGRATIONS}/phases/phase3_application/50_proof.ts`,
    find: 'statements: [...PROBE_TABLE, ...act, READ_PROBE],',
    replace: 'statements: [...PROBE_TABLE, ...act, READ_PROBE].slice(0, 0),',
  },
  {
    file: `${MIGRATIONS}/phases/phase4_row_level_security/50_verification.ts`,
    find: 'for (const table of TENANT_TABLES) {',
    replace: 'for (const table of TENANT_TABLES.slice(3)) {',
  },
];

/** What keeps tenants apart. The tests of each must fail without it. */
export const mutationChecks: MutationCheck[] = [
  {
    name: 'the predicate on tenant_id',
    edits: [
      {
        file: `${NODE}/database/PooledTenantDatabase.ts`,
        find: 'builder.where(`${alias}.tenant_id`, tenantId)',
        replace: 'builder',
      },
    ],
    tests: [
      `${NODE}/database/isolation.test.ts`,
      `${NODE}/catalog/isolation.test.ts`,
    ],
  },
  {
    name: 'the policy',
    edits: [
      {
        file: `${MIGRATIONS}/schema/policies.ts`,
        find: 'return `tenant_id = ${currentTenant(policyFor)}`;',
        replace: 'return `${currentTenant(policyFor)} is not null`;',
      },
      ...unverified,
    ],
    tests: [
      `${NODE}/catalog/isolation.test.ts`,
      `${NODE}/database/isolation.test.ts`,
      `${MIGRATIONS}/phases/phase4_row_level_security/isolation.test.ts`,
    ],
  },
  {
    name: 'the predicate on tenant_id of entity_terms',
    edits: [
      {
        file: `${NODE}/database/PooledTenantDatabase.ts`,
        find: 'builder.where(`${alias}.tenant_id`, tenantId)',
        replace:
          "table === 'entity_terms' ? builder : builder.where(`${alias}.tenant_id`, tenantId)",
      },
    ],
    tests: [`${NODE}/catalog/isolation.test.ts`],
  },
  {
    name: 'the policy of entity_terms',
    edits: [
      {
        file: `${SEARCH}/tables.ts`,
        find: '    ...tenantPolicyStatements(table, { policyFor: table }),\n',
        replace: '',
      },
    ],
    tests: [`${NODE}/catalog/isolation.test.ts`, `${SEARCH}/follow.test.ts`],
  },
  {
    name: 'the revoked right to call what writes to entity_terms',
    edits: [
      {
        file: `${SEARCH}/functions.ts`,
        find: '    revokeAllOnFunctionStatement(signature),',
        replace: '    `grant execute on function ${signature} to public`,',
      },
    ],
    tests: [`${SEARCH}/follow.test.ts`],
  },
  {
    name: 'the revoked right to call what carries the entities of an adopted catalog',
    edits: [
      {
        file: `${MIGRATIONS}/adopt/objects.ts`,
        find: '    revokeAllOnFunctionStatement(signature),',
        replace: '    `grant execute on function ${signature} to public`,',
      },
    ],
    tests: [`${MIGRATIONS}/adopt/logins.test.ts`],
  },
  {
    name: 'the tenant in what carries the entities of an adopted catalog',
    edits: [
      {
        file: `${MIGRATIONS}/adopt/functions/support.ts`,
        find: '}tenant_id = ${tenant} and `,',
        replace: '}tenant_id is not null and `,',
      },
    ],
    tests: [`${MIGRATIONS}/adopt/adopt.test.ts`],
  },
  {
    name: 'custom plans, which lock the partition of one tenant, in what carries entities',
    edits: [
      {
        file: `${MIGRATIONS}/adopt/functions/support.ts`,
        find: 'set plan_cache_mode = force_custom_plan',
        replace: 'set plan_cache_mode = force_generic_plan',
      },
    ],
    tests: [`${MIGRATIONS}/adopt/tenants.test.ts`],
  },
  {
    name: 'the refusal of other tenants where the tables have no tenants',
    edits: [
      {
        file: `${MIGRATIONS}/adopt/functions/support.ts`,
        find: '`${REFUSE_OTHER_TENANTS}${without}`',
        replace: 'without',
      },
    ],
    tests: [`${MIGRATIONS}/adopt/tenants.test.ts`],
  },
  {
    name: 'the tenant of what equal reads share',
    edits: [
      {
        file: `${NODE}/catalog/SharedReads.ts`,
        find: 'JSON.stringify([tenantId, ...question])',
        replace: 'JSON.stringify([typeof tenantId, ...question])',
      },
    ],
    tests: [
      `${NODE}/catalog/SharedReads.test.ts`,
      `${NODE}/catalog/isolation.test.ts`,
    ],
  },
  {
    name: 'what the caller may read, of what equal reads share',
    edits: [
      {
        file: `${NODE}/catalog/PostgresCatalogStore.ts`,
        find: '{ ...query, filter: readFilter(query.filter) }',
        replace: '{ ...query, filter: Boolean(readFilter(query.filter)) }',
      },
    ],
    tests: [`${NODE}/catalog/PostgresCatalogStore.test.ts`],
  },
  {
    name: 'the tenant of what is looked up together',
    edits: [
      {
        file: `${NODE}/catalog/SharedLookups.ts`,
        find: 'JSON.stringify([tenantId, question])',
        replace: 'JSON.stringify([typeof tenantId, question])',
      },
    ],
    tests: [
      `${NODE}/catalog/SharedLookups.test.ts`,
      `${NODE}/catalog/isolation.test.ts`,
    ],
  },
  {
    name: 'what the caller may read, of what is looked up together',
    edits: [
      {
        file: `${NODE}/catalog/SharedLookups.ts`,
        find: 'JSON.stringify([tenantId, question])',
        replace: 'JSON.stringify([tenantId, Boolean(question)])',
      },
    ],
    tests: [
      `${NODE}/catalog/SharedLookups.test.ts`,
      `${NODE}/catalog/PostgresCatalogStore.test.ts`,
    ],
  },
  {
    name: 'the user of a decision that requests share',
    edits: [
      {
        file: `${MODULE}/authorization/SharedDecisions.ts`,
        find: '[tenantId, token, principal, queries]',
        replace: '[tenantId, queries]',
      },
    ],
    tests: [`${MODULE}/authorization/SharedDecisions.test.ts`],
  },
  {
    name: 'the tenant of a decision that is kept',
    edits: [
      {
        file: `${MODULE}/authorization/SharedDecisions.ts`,
        find: '[tenantId, token, principal, queries]',
        replace: '[token, principal, queries]',
      },
    ],
    tests: [`${MODULE}/authorization/policy.test.ts`],
  },
  {
    name: 'the end of a decision that is kept',
    edits: [
      {
        file: `${MODULE}/authorization/SharedDecisions.ts`,
        find: 'ttl: maxAgeMs,',
        replace: 'ttl: 0,',
      },
    ],
    tests: [`${MODULE}/authorization/SharedDecisions.test.ts`],
  },
  {
    name: 'the refusal to work without a tenant',
    edits: [
      {
        file: `${MIGRATIONS}/schema/policies.ts`,
        find: 'tenant_required(${escapeLiteral(policyFor)})::text)::uuid`;',
        replace: 'null)::uuid`;',
      },
      ...unverified,
    ],
    tests: [
      `${NODE}/database/isolation.test.ts`,
      `${MIGRATIONS}/phases/phase4_row_level_security/isolation.test.ts`,
    ],
  },
  {
    name: 'FORCE',
    edits: [
      {
        file: `${MIGRATIONS}/schema/policies.ts`,
        find: '    `alter table ${name} force row level security`,\n',
        replace: '',
      },
    ],
    tests: [
      `${NODE}/startup/checkDatabase.test.ts`,
      `${MIGRATIONS}/phases/phase4_row_level_security/isolation.test.ts`,
    ],
  },
  {
    name: 'the missing grant on partitions',
    edits: [
      {
        file: `${MIGRATIONS}/schema/grants.ts`,
        find: '    revokeAllStatement(partition),',
        replace: '    `grant select on ${name} to portal_app`,',
      },
    ],
    tests: [
      `${NODE}/database/isolation.test.ts`,
      `${NODE}/startup/checkDatabase.test.ts`,
    ],
  },
  {
    name: 'the look at what a policy calls',
    edits: [
      {
        file: `${MIGRATIONS}/isolation/tables.ts`,
        find: 'return calls.length === 1 && calls[0].oid === oid;',
        replace: 'return calls.some(each => each.oid !== oid) || oid > 0;',
      },
    ],
    tests: [`${MIGRATIONS}/isolation/waysAround.test.ts`],
  },
  {
    name: 'the look at views of roles that no policy binds',
    edits: [
      {
        file: `${MIGRATIONS}/isolation/readers.ts`,
        find: '      .filter(each => shows(each.oid, oid, { readers, access }))\n',
        replace:
          '      .filter(each => each.invoker && shows(each.oid, oid, { readers, access }))\n',
      },
    ],
    tests: [`${MIGRATIONS}/isolation/waysAround.test.ts`],
  },
  {
    name: 'the look at SECURITY DEFINER functions',
    edits: [
      {
        file: `${MIGRATIONS}/isolation/actors.ts`,
        find: 'select p.oid, p.oid as of from pg_proc p\n        where p.prosecdef',
        replace:
          'select p.oid, p.oid as of from pg_proc p\n        where not p.prosecdef',
      },
    ],
    tests: [`${MIGRATIONS}/isolation/waysAround.test.ts`],
  },
  {
    name: 'the reset of tenant and role',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: "select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = '${tenantId}' and current_setting('role') = '${role}' and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false)",
        replace: "select '${tenantId}', '${role}'",
      },
    ],
    tests: [
      `${NODE}/database/statements.test.ts`,
      `${NODE}/database/connections.test.ts`,
    ],
  },
  {
    name: 'the end of the settings with the transaction',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: "pg_catalog.set_config('${name}', ${value}, true)",
        replace: "pg_catalog.set_config('${name}', ${value}, false)",
      },
      {
        file: `${NODE}/pool/context.ts`,
        find: "select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = '${tenantId}' and current_setting('role') = '${role}' and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false)",
        replace: "select '${tenantId}', '${role}'",
      },
    ],
    tests: [
      `${NODE}/database/connections.test.ts`,
      `${NODE}/database/faults.test.ts`,
    ],
  },
  {
    name: 'the end of a session whose transaction could not begin',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: "  await client.query('set exit_on_error = on');\n",
        replace: '',
      },
    ],
    tests: [`${NODE}/database/faults.test.ts`],
  },
  {
    name: 'the answer to the beginning of a transaction behind a pooler',
    edits: [
      {
        file: `${NODE}/pool/PooledTransaction.ts`,
        find: 'if (!direct || citus) {',
        replace: 'if (!direct && citus) {',
      },
    ],
    tests: [`${NODE}/database/pgbouncer.test.ts`],
  },
  {
    name: 'the end of connections in doubt',
    edits: [
      {
        file: `${NODE}/pool/PooledTransaction.ts`,
        find: 'this.#isCancelled || this.#inDoubt || !this.#isIdle()',
        replace: '!onRelease',
      },
    ],
    tests: [
      `${NODE}/database/connections.test.ts`,
      `${NODE}/database/faults.test.ts`,
      `${NODE}/database/transactions.test.ts`,
    ],
  },
  {
    name: 'the look for tables that were taken back',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: '`with ready as (select from ${quoted(schema)}.${READY_TABLE}) `',
        replace: '`with ready as (select from ${quoted(schema)}.tenants) `',
      },
    ],
    tests: [
      `${NODE}/database/ready.test.ts`,
      `${MODULE}/live/rollback.test.ts`,
    ],
  },
  {
    name: 'the drop of that table before all others',
    edits: [
      {
        file: `${MIGRATIONS}/phases/phase5_partitions/97_ready.ts`,
        find: 'statements: [`drop table if exists ${READY_TABLE}`],',
        replace: "statements: [`select '${READY_TABLE}'`],",
      },
    ],
    tests: [
      `${MIGRATIONS}/phases/phase5_partitions/swap.test.ts`,
      `${MODULE}/live/rollback.test.ts`,
    ],
  },
  {
    name: 'the refusal to exchange partitions while changes of theirs wait in the log',
    edits: [
      {
        file: `${MIGRATIONS}/partitions/exchange.ts`,
        find: '`if exists (select from ${PARTITION_LOG.table}) then',
        replace:
          '`if exists (select from ${PARTITION_LOG.table} where false) then',
      },
    ],
    tests: [`${MIGRATIONS}/partitions/live.test.ts`],
  },
  {
    name: 'the replay of a change log before each attempt to lock the partitions',
    edits: [
      {
        file: `${MIGRATIONS}/partitions/move.ts`,
        find: '          await replayOnce(session, PARTITION_LOG);\n',
        replace: '',
      },
    ],
    tests: [`${MIGRATIONS}/partitions/live.test.ts`],
  },
  {
    name: 'the check of tenant ids',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: "if (typeof tenantId !== 'string' || !UUID.test(tenantId)) {",
        replace: "if (typeof tenantId !== 'string' || !UUID) {",
      },
    ],
    tests: [`${NODE}/database/isolation.test.ts`],
  },
  {
    name: 'the refusal of the routes of the stock catalog',
    edits: [
      {
        file: `${MODULE}/module.ts`,
        find: '            : refuseOtherTenants(),',
        replace:
          '            : (refuseOtherTenants, (_req, _res, next) => next()),',
      },
    ],
    tests: [`${MODULE}/routes/refusal.test.ts`],
  },
  {
    name: 'the entrance in front of all modules',
    edits: [
      {
        file: `${MODULE}/entrance.ts`,
        find: "  initialization: 'always',\n",
        replace: '',
      },
    ],
    tests: [`${MODULE}/gate/gate.test.ts`],
  },
  {
    name: 'the gate in front of all routes',
    edits: [
      {
        file: `${MODULE}/gate/services.ts`,
        find: "  initialization: 'always',\n",
        replace: '',
      },
    ],
    tests: [`${MODULE}/gate/classes.test.ts`, `${MODULE}/gate/gate.test.ts`],
  },
  {
    name: 'the gate in front of WebSockets',
    edits: [
      {
        file: `${MODULE}/gate/guardUpgrades.ts`,
        find: "if (typeof httpRouter.addWebSocketHandler !== 'function') {",
        replace: "if (pluginId !== '') {",
      },
    ],
    tests: [`${MODULE}/gate/sockets.test.ts`],
  },
  {
    name: 'the end of WebSockets whose caller may not enter any more',
    edits: [
      {
        file: `${MODULE}/gate/OpenSockets.ts`,
        find: 'if (!stays && !socket.destroyed) {',
        replace: 'if (!stays && socket.destroyed) {',
      },
    ],
    tests: [`${MODULE}/gate/OpenSockets.test.ts`],
  },
  {
    name: 'the question whether a caller is a member',
    edits: [
      {
        file: `${MODULE}/gate/Admission.ts`,
        find: "isDefault ? membershipOfDefault === 'everyone' : membership === 'open'",
        replace: "membershipOfDefault === 'everyone' || membership === 'open'",
      },
    ],
    tests: [`${MODULE}/gate/classes.test.ts`],
  },
  {
    name: 'the user beside the token for which groups are remembered',
    edits: [
      {
        file: `${MODULE}/gate/Ownership.ts`,
        find: '`${credentials.principal.userEntityRef} ${token}`',
        replace: 'token',
      },
    ],
    tests: [`${MODULE}/gate/membership.test.ts`],
  },
  {
    name: 'members by the identity catalog alone',
    edits: [
      {
        file: `${MODULE}/gate/services.ts`,
        find: '    directory: tenantDirectoryServiceRef,\n',
        replace:
          '    directory: tenantDirectoryServiceRef,\n    store: catalogStoreServiceRef,\n',
      },
      {
        file: `${MODULE}/gate/services.ts`,
        find: '  readAdministrators,\n  readTenancyConfig,\n',
        replace:
          '  catalogStoreServiceRef,\n  readAdministrators,\n  readTenancyConfig,\n',
      },
      {
        file: `${MODULE}/gate/services.ts`,
        find: '    directory,\n    discovery,\n    gates,\n',
        replace: '    directory,\n    store,\n    discovery,\n    gates,\n',
      },
      {
        file: `${MODULE}/gate/services.ts`,
        find: 'admits: (req, tenant) => admission.admits(req, tenant),',
        replace: `admits: async (req, tenant) => {
          const { principal } = await httpAuth.credentials(req);
          const { userEntityRef = '' } = principal as { userEntityRef?: string };
          const [user] = userEntityRef
            ? await store.readEntitiesByRefs(tenant.tenantId, [userEntityRef])
            : [];
          const groups = user?.match(/group:[a-z]+\\/[a-z]+/g) ?? [];
          return (
            (await members.roleOf(tenant, groups)) !== undefined ||
            admission.admits(req, tenant)
          );
        },`,
      },
    ],
    tests: [`${MODULE}/gate/membership.test.ts`],
  },
  {
    name: 'members that are removed',
    edits: [
      {
        file: `${NODE}/members/CachingTenantMembers.ts`,
        find: "if ('membersOf' in change) {",
        replace: "if ('membersOf' in change && !change) {",
      },
      {
        file: `${NODE}/members/CachingTenantMembers.ts`,
        find: '    this.#epochs.set(tenantId, (this.#epochs.get(tenantId) ?? 0) + 1);\n',
        replace: '',
      },
    ],
    tests: [`${MODULE}/gate/membership.test.ts`, `${NODE}/members`],
  },
  {
    name: "the page of a tenant at another host than the backend's",
    edits: [
      {
        file: `${MODULE}/resolution/TenantResolver.ts`,
        find: 'return fromOrigin === undefined',
        replace: "return fromOrigin === undefined || fromOrigin !== ''",
      },
    ],
    tests: [`${MODULE}/gate/origin.test.ts`],
  },
  {
    name: 'plugins that are closed unless they are classified',
    edits: [
      {
        file: `${MODULE}/gate/services.ts`,
        find: 'isShared: settings.shared.has(pluginId),',
        replace: "isShared: settings.shared.has(pluginId) || pluginId !== '',",
      },
    ],
    tests: [`${MODULE}/gate/classes.test.ts`],
  },
  {
    name: 'the algorithm of tokens',
    edits: [
      {
        file: `${MODULE}/resolution/TenantTokens.ts`,
        find: "algorithms: ['HS256']",
        replace: "algorithms: ['HS256', 'HS384', 'HS512', 'none']",
      },
    ],
    tests: [`${MODULE}/resolution/tokens.test.ts`],
  },
  {
    name: 'the look at deleted tenants',
    edits: [
      {
        file: `${NODE}/tenants/CachingTenantDirectory.ts`,
        find: ".whereNull('deleted_at'),",
        replace: '',
      },
    ],
    tests: [`${NODE}/tenants`, `${MODULE}/resolution/directory.test.ts`],
  },
  {
    name: 'the refusal of tokens with critical parameters',
    edits: [
      {
        file: `${MODULE}/resolution/TenantTokens.ts`,
        find: "if ('crit' in header) {",
        replace: "if ('crit' in header && false) {",
      },
    ],
    tests: [`${MODULE}/resolution/tokens.test.ts`],
  },
  {
    name: 'that answers about members are forgotten when they change elsewhere',
    edits: [
      {
        file: `${NODE}/members/CachingTenantMembers.ts`,
        find: 'this.forget(change.membersOf);',
        replace: 'this.#underWay.clear();',
      },
    ],
    tests: [`${NODE}/members/members.test.ts`],
  },
  {
    name: 'that the database is asked about members while changes are not heard',
    edits: [
      {
        file: `${NODE}/members/CachingTenantMembers.ts`,
        find: 'if (this.#listener.hears && generation === this.#generation) {',
        replace: 'if (generation === this.#generation) {',
      },
    ],
    tests: [`${NODE}/members/members.test.ts`],
  },
  {
    name: 'that a service does not become a user by its subject',
    edits: [
      {
        file: `${NODE}/members/principals.ts`,
        find: 'MEMBER_KINDS.test(principal.subject) ? [] : [principal.subject]',
        replace: '[principal.subject]',
      },
    ],
    tests: [
      `${NODE}/members/principals.test.ts`,
      'plugins/tenants-backend/src/http/members.test.ts',
    ],
  },
  {
    name: 'that the policy makes nobody an admin of a tenant',
    edits: [
      {
        file: 'plugins/tenants-backend/src/authorization/TenantAdmins.ts',
        find: '(await this.#isAdminOf(credentials, tenantSlug)) &&',
        replace: '',
      },
    ],
    tests: ['plugins/tenants-backend/src/http/members.test.ts'],
  },
  {
    name: 'the refusal of applyMutation beside an engine',
    edits: [
      {
        file: `${NODE}/catalog/mutation/CatalogWriter.ts`,
        find: '        await refuseEngine(transaction);\n',
        replace: '',
      },
      {
        file: `${NODE}/catalog/mutation/CatalogWriter.ts`,
        find: 'async function refuseEngine(',
        replace: 'export async function refuseEngine(',
      },
    ],
    tests: [`${NODE}/engines`],
  },
  {
    name: 'the lock of the entities under which a tenant gets an engine',
    edits: [
      {
        file: `${NODE}/engines/PostgresTenantEngineStore.ts`,
        find: '        await transaction.query(lockTenant(knex, tenantId));\n',
        replace:
          '        await transaction.query(lockTenant(knex, `not ${tenantId}`));\n',
      },
    ],
    tests: [`${NODE}/engines`],
  },
  {
    name: 'that a search for tenants takes wildcards as they stand',
    edits: [
      {
        file: `${NODE}/tenants/PostgresTenantStore.ts`,
        find: "search.replace(/[\\\\%_]/g, '\\\\$&')",
        replace: 'search',
      },
    ],
    tests: [`${NODE}/tenants/PostgresTenantStore.test.ts`],
  },
  {
    name: 'that a tenant is created with its engine or not at all',
    edits: [
      {
        file: `${NODE}/tenants/PostgresTenantStore.ts`,
        find: "return this.#change('create a tenant', slug, async transaction => {",
        replace:
          "const made = await this.#change('create a tenant', slug, async transaction => {",
      },
      {
        file: `${NODE}/tenants/PostgresTenantStore.ts`,
        find: '      if (engine) {\n',
        replace: "      if (slug === '') {\n",
      },
      {
        file: `${NODE}/tenants/PostgresTenantStore.ts`,
        find: '      return toTenant(created);\n    });\n',
        replace: `      return toTenant(created);
    });
    if (engine) {
      await this.#admin.run('create its engine', async ({ knex, query }) =>
        query(
          knex('tenant_engines').insert({
            tenant_id: made.tenant_id,
            created_by: engine.by,
          }),
        ),
      );
    }
    return made;
`,
      },
    ],
    tests: [`${NODE}/engines`],
  },
  {
    name: 'that the admins of its own tenant alone configure an engine',
    edits: [
      {
        file: 'plugins/tenants-backend/src/http/engineRoutes.ts',
        find: 'await tenantAdmins.assertMay(',
        replace: 'await ((..._: unknown[]) => {})(',
      },
    ],
    tests: ['plugins/tenants-backend/src/http/engines.test.ts'],
  },
  {
    name: 'that administrators of all tenants alone pause an engine',
    edits: [
      {
        file: 'plugins/tenants-backend/src/http/engineRoutes.ts',
        find: "operation('pause-tenant-engine', maySwitch, async (req, res, { by }) => {",
        replace:
          "operation('pause-tenant-engine', may(tenantConfigUpdatePermission), async (req, res, { by }) => {",
      },
    ],
    tests: ['plugins/tenants-backend/src/http/engines.test.ts'],
  },
  {
    name: 'the tenant in the look for the configuration of an engine',
    edits: [
      {
        file: `${NODE}/engines/PostgresTenantEngineStore.ts`,
        find: "selectEngines(knex).where('e.tenant_id', tenantId),",
        replace: "selectEngines(knex).orderBy('e.config_updated_at'),",
      },
    ],
    tests: ['plugins/tenants-backend/src/http/engines.test.ts'],
  },
  {
    name: 'that the audit log has nothing of a configuration',
    edits: [
      {
        file: 'plugins/tenants-backend/src/http/operations.ts',
        find: 'QUOTES_NOTHING.includes(name)',
        replace: 'QUOTES_NOTHING !== undefined',
      },
    ],
    tests: ['plugins/tenants-backend/src/http/engines.test.ts'],
  },
  {
    name: 'the look at the tenant of a token that counts as credentials',
    edits: [
      {
        file: `${MODULE}/resolution/tenantTokenHandler.ts`,
        find: '(await directory.findActive(tenantSlug)) !== undefined',
        replace: 'directory !== undefined',
      },
    ],
    tests: [`${MODULE}/resolution/tenantTokenHandler.test.ts`],
  },
  {
    name: 'the refusal of a second header Host',
    edits: [
      {
        file: `${MODULE}/resolution/requestHost.ts`,
        find: 'if (hosts.length > 1) {',
        replace: 'if (hosts.length > 3) {',
      },
    ],
    tests: [`${MODULE}/resolution/requestHost.test.ts`],
  },
  {
    name: 'the refusal of another host in the URL',
    edits: [
      {
        file: `${MODULE}/resolution/requestHost.ts`,
        find: 'const target = req.originalUrl.match(ABSOLUTE_FORM)?.[1];',
        replace: "const target = ''.match(ABSOLUTE_FORM)?.[1];",
      },
    ],
    tests: [`${MODULE}/resolution/requestHost.test.ts`],
  },
  {
    name: 'the refusal of requests of whose headers some are dropped',
    edits: [
      {
        file: `${MODULE}/resolution/requestHost.ts`,
        find: '  assertComplete(req);\n',
        replace: '  if (!req) assertComplete(req);\n',
      },
    ],
    tests: [`${MODULE}/resolution/requestHost.test.ts`],
  },
  {
    name: 'the refusal of hosts below no base domain',
    edits: [
      {
        file: `${MODULE}/resolution/HostnameTenants.ts`,
        find: '!this.#baseDomains.has(domain)) {\n      return FOREIGN;',
        replace: '!this.#baseDomains.has(domain)) {\n      return SHARED;',
      },
    ],
    tests: [`${MODULE}/resolution/hostnames.test.ts`],
  },
  ...browserChecks,
  ...callChecks,
  ...engineChecks,
  ...engineConfigChecks,
  ...engineTableChecks,
  ...limitChecks,
  ...replicaChecks,
  // Those that a cluster has to notice.
  ...(process.env.TENANCY_CITUS_URL ? citusChecks : []),
];
