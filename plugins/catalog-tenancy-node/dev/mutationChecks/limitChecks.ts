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
        find: 'if (running.size >= limit) {',
        replace: 'if (running.size >= 1000 * limit) {',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the limit that the registry gives a tenant',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'const own = this.#own?.of(tenantId)?.concurrency;',
        replace: "const own = this.#own?.of('')?.concurrency;",
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the lower limit beside other tenants',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'return quick.length < this.#limits.concurrencyBesideOthers;',
        replace: 'return quick.length < limit;',
      },
    ],
    tests: [`${NODE}/pool/TenantTurns.test.ts`],
  },
  {
    name: 'the slow operation that others of its tenant do not wait for',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'performance.now() - SLOW_MS',
        replace: 'performance.now() - 1e9 * SLOW_MS',
      },
    ],
    tests: [`${NODE}/pool/TenantTurns.test.ts`],
  },
  {
    name: 'the tenant beside which a busy one has the lower limit',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'this.#latest?.tenantId === tenantId ? this.#latestOther : this.#latest',
        replace: 'tenantId ? this.#latest : this.#latestOther',
      },
    ],
    tests: [`${NODE}/pool/TenantTurns.test.ts`],
  },
  {
    name: 'the tenant to which the registry gives a limit',
    edits: [
      {
        file: `${NODE}/pool/TenantLimits.ts`,
        find: 'return this.#own.get(tenantId);',
        replace: 'return tenantId ? [...this.#own.values()][0] : undefined;',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the way in for what waits, when a limit is raised',
    edits: [
      {
        file: `${NODE}/pool/TenantTurns.ts`,
        find: 'options.own?.onChange(() => this.#dispatch())',
        replace: 'options.own?.onChange(() => {})',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the notification of another limit of a tenant',
    edits: [
      {
        file: `${NODE}/tenants/ListeningTenantLimits.ts`,
        find: 'this.#changed.add(change.tenantSlug);\n          this.#read();',
        replace: 'this.#changed.add(change.tenantSlug);',
      },
    ],
    tests: [`${NODE}/tenants/ListeningTenantLimits.test.ts`],
  },
  {
    name: 'the limits of the registry where nothing is heard of changes',
    edits: [
      {
        file: `${NODE}/tenants/ListeningTenantLimits.ts`,
        find: 'this.#listener.hears ? hearingMs : deafMs',
        replace: 'Math.max(hearingMs, deafMs)',
      },
    ],
    tests: [`${NODE}/tenants/ListeningTenantLimits.test.ts`],
  },
  {
    name: 'the rate that the registry gives a tenant',
    edits: [
      {
        file: `${MODULE}/limits/limitRate.ts`,
        find: 'limits.of(tenantOf(req).tenantId)?.rate ?? configured',
        replace: 'configured ?? limits.of(tenantOf(req).tenantId)?.rate',
      },
    ],
    tests: [`${MODULE}/limits/limitRate.test.ts`],
  },
  {
    name: 'the end of a limit with the registry',
    edits: [
      {
        file: `${NODE}/pool/TenantLimits.ts`,
        find: 'this.#own.delete(tenantId);',
        replace: 'void tenantId;',
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
        find: 'running => this.#options.canceller.cancelUntil(ended, running),',
        replace: 'noop,',
      },
    ],
    tests: [`${MODULE}/routes/limits.test.ts`],
  },
  {
    name: 'the end of a connection on which something was cancelled',
    edits: [
      {
        file: `${NODE}/pool/PooledTransaction.ts`,
        find: 'this.#isCancelled || this.#inDoubt',
        replace: 'this.#inDoubt',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
  },
  {
    name: 'the callers that remain of a read that several share',
    edits: [
      {
        file: `${NODE}/catalog/Sharing.ts`,
        find: 'if (this.#callers === 0) {',
        replace: 'if (this.#callers >= 0) {',
      },
    ],
    tests: [`${NODE}/catalog/SharedReads.test.ts`],
  },
  {
    name: 'the end of a look-up whose callers have gone',
    edits: [
      {
        file: `${NODE}/catalog/SharedLookups.ts`,
        find: 'sharing.send(options => send([...refs], options))',
        replace: 'sharing.send(() => send([...refs], {}))',
      },
    ],
    tests: [`${NODE}/database/limits.test.ts`],
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
  {
    name: 'the pause of a long list beside requests of others',
    edits: [
      {
        file: `${MODULE}/routes/workSlices.ts`,
        find: '!longWork.includes(tenantId)',
        replace: '!tenantId',
      },
    ],
    tests: [`${MODULE}/routes/workSlices.test.ts`],
  },
  {
    name: 'the requests beside which a long list pauses',
    edits: [
      {
        file: `${MODULE}/routes/operations.ts`,
        find: "res.once('close', workSlices.enter(tenantId));",
        replace: 'void workSlices;',
      },
    ],
    tests: [`${MODULE}/routes/operations.test.ts`],
  },
];
