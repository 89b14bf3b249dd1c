import type { MutationCheck } from './MutationCheck';

const ENGINES = 'plugins/catalog-backend-module-tenant-engines/src';
const ENGINE = [`${ENGINES}/engine/TenantEngine.test.ts`];

/** What keeps the engines of tenants apart. */
export const engineChecks: MutationCheck[] = [
  {
    name: 'the search path of a connection that another engine has used',
    edits: [
      {
        file: `${ENGINES}/pool/EnginePool.ts`,
        find: 'if (this.#paths.get(client) !== path) {',
        replace: 'if (!this.#paths.has(client)) {',
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
];
