import type { MutationCheck } from './MutationCheck';

const NODE = 'plugins/catalog-tenancy-node/src';
const MODULE = 'plugins/catalog-backend-module-tenancy/src';

/** What keeps a busy tenant from being noticed by others. */
export const limitChecks: MutationCheck[] = [
  {
    name: 'the limit of what a tenant has under way',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'this.#runningOf(tenantId) < this.#limits.concurrency',
        replace: 'this.#limits.concurrency > 0',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the tenant by whose own operations its limit goes',
    edits: [
      {
        file: `${NODE}/pool/TenancyPool.ts`,
        find: "return role === 'none' ? tenantId : NO_TENANT;",
        replace: "return role === 'none' && tenantId ? 'all' : NO_TENANT;",
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the end of the queue of a tenant',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'this.#queue.sizeOf(tenantId) >= queue',
        replace: 'this.#queue.sizeOf(tenantId) > queue + 1000',
      },
    ],
    tests: [`${NODE}/pool/TenantTurns.test.ts`],
  },
  {
    name: 'the turns of tenants for a connection',
    edits: [
      {
        file: `${NODE}/pool/FairQueue.ts`,
        find: '    this.#queues.delete(least.owner);\n    if (queue.length > 0) {\n      this.#queues.set(least.owner, queue);\n    }',
        replace:
          '    if (queue.length === 0) {\n      this.#queues.delete(least.owner);\n    }',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the precedence of the tenant that holds the fewest connections',
    edits: [
      {
        file: `${NODE}/pool/FairQueue.ts`,
        find: '(!least || held < least.held)',
        replace: '!least',
      },
    ],
    tests: [`${NODE}/pool/TenantTurns.test.ts`],
  },
  {
    name: 'the cancellation of what nobody waits for',
    edits: [
      {
        file: `${NODE}/pool/PooledTransaction.ts`,
        find: 'cancelUntil(outcome, this.#client);',
        replace: 'if (!cancelUntil) throw new Error();',
      },
    ],
    tests: [`${MODULE}/routes/limits.test.ts`],
  },
  {
    name: 'the end of a connection on which something was cancelled',
    edits: [
      {
        file: `${NODE}/pool/PooledTransaction.ts`,
        find: 'this.#cancelled || options.inDoubt',
        replace: 'options.inDoubt',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the callers that remain of a read that several share',
    edits: [
      {
        file: `${NODE}/catalog/SharedReads.ts`,
        find: 'if (this.#callers === 0) {',
        replace: 'if (this.#callers >= 0) {',
      },
    ],
    tests: [`${NODE}/catalog/SharedReads.test.ts`],
  },
  {
    name: 'the slices of long answers',
    edits: [
      {
        file: `${MODULE}/routes/workSlices.ts`,
        find: 'performance.now() + SLICE_MS',
        replace: 'performance.now() + 1000 * SLICE_MS',
      },
    ],
    tests: [`${MODULE}/routes/workSlices.test.ts`],
  },
];
