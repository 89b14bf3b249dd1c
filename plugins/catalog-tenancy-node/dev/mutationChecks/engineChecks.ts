import type { MutationCheck } from './MutationCheck';

const ENGINES = 'plugins/catalog-backend-module-tenant-engines/src';
const ENGINE = [`${ENGINES}/engine/TenantEngine.test.ts`];
const LEASES = [`${ENGINES}/leases/leases.test.ts`];

const SLEEP = [`${ENGINES}/hibernation/Hibernation.test.ts`];
const POOL = [`${ENGINES}/pool/EnginePool.test.ts`];

/** What keeps the engines of tenants apart. */
export const engineChecks: MutationCheck[] = [
  {
    name: 'the end of a session in which a plugin has left a transaction',
    edits: [
      {
        file: `${ENGINES}/pool/Session.ts`,
        find: "this.#client.getTransactionStatus() === 'I' &&",
        replace: '',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the end of a session in which a plugin has left settings or locks',
    edits: [
      {
        file: `${ENGINES}/pool/Session.ts`,
        find: 'if (LEAVES_STATE.test(sql)) {',
        replace: 'if (sql === LEAVES_STATE.source) {',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the end of a session whose search path a function has changed',
    edits: [
      {
        file: `${ENGINES}/pool/Session.ts`,
        find: '(reported === undefined || !this.#path || reported === this.#path)',
        replace: '(reported === undefined || reported !== this.pid.toString())',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the turn of a quiet tenant beside one with many requests',
    edits: [
      {
        file: 'plugins/catalog-tenancy-node/src/pool/FairQueue.ts',
        find: '(!least || held < least.held)',
        replace: '!least',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the share of the sessions that one tenant may have',
    edits: [
      {
        file: `${ENGINES}/pool/SessionPool.ts`,
        find: 'this.#countOf(schema) < this.#options.maxPerSchema',
        replace: 'this.#options.maxPerSchema > 0',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the look at the lease after a statement has waited for a session',
    edits: [
      {
        file: `${ENGINES}/pool/EnginePool.ts`,
        find: '// The lease may have gone meanwhile.\n      check();',
        replace: '',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the failure of a transaction whose first statement got no session',
    edits: [
      {
        file: `${ENGINES}/pool/LazyConnection.ts`,
        find: 'this.#failure = { error };',
        replace: '',
      },
    ],
    tests: POOL,
  },
  {
    name: 'the search path of a connection that another engine has used',
    edits: [
      {
        file: `${ENGINES}/pool/SessionPool.ts`,
        find: 'if (schema !== undefined && !session.isIn(schema)) {',
        replace: 'if (schema !== undefined && session.schemaCount === 0) {',
      },
    ],
    tests: ENGINE,
  },
  {
    name: "the tenant in the ids of an engine's tasks",
    edits: [
      {
        file: `${ENGINES}/engine/tenantScheduler.ts`,
        find: '    triggerTask: id => scheduler.triggerTask(`${prefix}${id}`),',
        replace: '    triggerTask: id => scheduler.triggerTask(id),',
      },
      {
        file: `${ENGINES}/engine/tenantScheduler.ts`,
        find: 'id: `${prefix}${task.id}`,',
        replace: 'id: task.id,',
      },
    ],
    tests: ENGINE,
  },
  {
    name: 'the tenant in the credentials with which an engine calls',
    edits: [
      {
        file: `${ENGINES}/engine/services.ts`,
        find: '=> withTenant(tenant, credentials);',
        replace: '=> (tenant ? credentials : withTenant(tenant, credentials));',
      },
    ],
    tests: ENGINE,
  },
  {
    name: "the end of a tenant's request that its engine has no route for",
    edits: [
      {
        file: `${ENGINES}/routes/forward.ts`,
        find: "if (error === undefined || error === 'router') {",
        replace:
          "if (error === undefined && supervised) {\n        next();\n      } else if (error === 'router') {",
      },
    ],
    tests: [`${ENGINES}/routes/routes.test.ts`],
  },
  {
    name: 'that a paused engine ingests nothing and runs no task',
    edits: [
      {
        file: 'plugins/catalog-backend-module-tenant-engines/src/manager/EngineManager.ts',
        find: 'works.pause(tenantId);',
        replace: 'works.resume(tenantId);',
      },
    ],
    tests: [
      'plugins/catalog-backend-module-tenant-engines/src/status/status.test.ts',
    ],
  },
  {
    name: 'that the process with the lease alone writes the status of an engine',
    edits: [
      {
        file: 'plugins/catalog-backend-module-tenant-engines/src/status/EngineStatusRecorder.ts',
        find: '.filter(id => this.#leases.isHeld(id))',
        replace: '.filter(() => true)',
      },
    ],
    tests: [
      'plugins/catalog-backend-module-tenant-engines/src/status/status.test.ts',
    ],
  },
  {
    name: "the end of a tenant's request that its instance of a plugin does not answer",
    edits: [
      {
        file: 'plugins/catalog-backend-module-tenancy/src/gate/PluginGate.ts',
        find: "next(!error || error === 'router' ? notAnswered(req) : error),",
        replace: 'next(error ?? (res.headersSent && notAnswered(req))),',
      },
    ],
    tests: ['plugins/catalog-backend-module-tenancy/src/gate/classes.test.ts'],
  },
  {
    name: 'the tenant in the name of the schema of an instance of a plugin',
    edits: [
      {
        file: `${ENGINES}/plugins/PluginSchemas.ts`,
        find: 'return `${engineSchemaOf(tenantId)}_${this.#pluginId}`;',
        replace:
          "return `${tenantId && engineSchemaOf('00000000-0000-0000-0000-000000000000')}_${this.#pluginId}`;",
      },
    ],
    tests: [`${ENGINES}/plugins/onePerTenant.test.ts`],
  },
  {
    name: 'the tenant in the calls of an instance of a plugin',
    edits: [
      {
        file: `${ENGINES}/engine/services.ts`,
        find: '=> withTenant(tenant, credentials);',
        replace: '=> (tenant ? credentials : withTenant(tenant, credentials));',
      },
    ],
    tests: [`${ENGINES}/plugins/onePerTenant.test.ts`],
  },
  {
    name: 'the end of the sessions of a process that has lost its leases',
    edits: [
      {
        file: `${ENGINES}/leases/LeaseStore.ts`,
        find: 'select pid, pg_catalog.pg_terminate_backend(pid)',
        replace: 'select pid',
      },
      {
        file: `${ENGINES}/leases/LeaseStore.ts`,
        find: 'if (rows.length === 0) {',
        replace: 'if (rows.length >= 0) {',
      },
    ],
    tests: LEASES,
  },
  {
    name: 'the check of the lease when a session is established',
    edits: [
      {
        file: `${ENGINES}/pool/EnginePool.ts`,
        find: 'work?.check();',
        replace: '',
      },
    ],
    tests: LEASES,
  },
  {
    name: 'the end of a lease by the clock of its process',
    edits: [
      {
        file: `${ENGINES}/leases/ProcessLeases.ts`,
        find: 'return this.#held.has(tenantId) && this.#isValid();',
        replace: 'return this.#held.has(tenantId);',
      },
    ],
    tests: LEASES,
  },
  {
    name: 'the end of a run of a task with the lease in which it began',
    edits: [
      {
        file: `${ENGINES}/work/BackgroundWork.ts`,
        find: 'this.#holdsLease() && !isOver;',
        replace: 'this.#holdsLease() && (!isOver || true);',
      },
    ],
    tests: [`${ENGINES}/work/BackgroundWork.test.ts`],
  },
  {
    name: 'that a change which was made during a poll has it asked again',
    edits: [
      {
        file: `${ENGINES}/hibernation/Hibernation.ts`,
        find: 'rows > 0 ? undefined : state.askedAt;',
        replace: 'rows > 0 ? undefined : this.#activity;',
      },
    ],
    tests: SLEEP,
  },
  {
    name: 'that a sleeping engine wakes when an item is due',
    edits: [
      {
        file: `${ENGINES}/hibernation/Hibernation.ts`,
        find: 'this.#states.processing.dueAt = Math.max(now + processing, earliest);',
        replace: 'this.#states.processing.dueAt = now + processing + 1e9;',
      },
    ],
    tests: SLEEP,
  },
  {
    name: 'that an engine wakes for what other processes have made due',
    edits: [
      {
        file: `${ENGINES}/hibernation/SleepingEngines.ts`,
        find: 'rows.forEach(({ tenant_id }) => this.wake(tenant_id));',
        replace: 'rows.forEach(({ tenant_id }) => tenant_id);',
      },
    ],
    tests: [`${ENGINES}/hibernation/sleepingEngines.test.ts`],
  },
];
