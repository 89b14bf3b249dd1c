// registryBackend.ts of the checkout in which it runs, whose trail a message turns on and off.

import type { PostgresTenantAuditTrail } from 'backstage-plugin-catalog-tenancy-node';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const folder = resolve(
  'plugins/catalog-backend-module-tenancy/src/audit/__testUtils__',
);
const requireThere = createRequire(resolve(folder, 'x.js'));
const { prototype } = requireThere('backstage-plugin-catalog-tenancy-node')
  .PostgresTenantAuditTrail as typeof PostgresTenantAuditTrail;
const { begin } = prototype;
let isOn = true;
prototype.begin = async function beginIfOn(event) {
  return isOn
    ? begin.call(this, event)
    : {
        end: async () => {},
        storeWith: () => ({
          build: async () => undefined,
          onCommitted() {},
          onTenant() {},
        }),
      };
};
process.on('message', (message: { isOn: boolean }) => {
  isOn = message.isOn;
  process.send!('done');
});
requireThere('./registryBackend.ts');
