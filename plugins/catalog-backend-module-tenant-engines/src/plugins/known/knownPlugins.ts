import type { KnownPlugin } from './KnownPlugin';
import { events } from './events';
import { kubernetes } from './kubernetes';
import { scaffolder } from './scaffolder';
import { techdocs } from './techdocs';

/** Plugins that were tried with tenants. */
export const KNOWN_PLUGINS: readonly KnownPlugin[] = [
  events,
  kubernetes,
  {
    id: 'mcp-actions',
    packages: ['@backstage/plugin-mcp-actions-backend'],
    background: 'none',
    // It stores nothing, and calls the actions of plugins for the tenant and the user.
    inherits: ['mcpActions'],
  },
  {
    id: 'notifications',
    packages: ['@backstage/plugin-notifications-backend'],
    // Old ones are removed the next time that the tenant has requests.
    background: 'none',
  },
  {
    id: 'proxy',
    packages: ['@backstage/plugin-proxy-backend'],
    background: 'none',
    // The endpoints of the backend have the credentials of the portal: a tenant has those that
    // the operator configures for tenants. One may forward the token of the user.
    operatorKey: 'proxy',
  },
  scaffolder,
  {
    id: 'search',
    packages: [
      '@backstage/plugin-search-backend',
      '@backstage/plugin-search-backend-module-catalog',
      '@backstage/plugin-search-backend-module-pg',
      '@backstage/plugin-search-backend-module-techdocs',
    ],
    // Its tasks index the catalog, which an engine that sleeps does not change.
    background: 'after changes',
  },
  {
    id: 'signals',
    packages: ['@backstage/plugin-signals-backend'],
    background: 'none',
  },
  techdocs,
  {
    id: 'user-settings',
    packages: ['@backstage/plugin-user-settings-backend'],
    background: 'none',
  },
];

/** Plugins that tenants can never have, with the reason. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  [
    'catalog',
    'the engines of tenants are its instances. Put its modules into features',
  ],
  [
    'devtools',
    'it shows the configuration of the backend to the users of the tenant. Leave it out',
  ],
]);

/** @throws Error with the reason why tenants can't have the plugin */
export function findPlugin(
  id: string,
  options: { isDeclared: boolean },
): KnownPlugin {
  const known = KNOWN_PLUGINS.find(each => each.id === id);
  const reason =
    REFUSED.get(id) ??
    (known || options.isDeclared
      ? undefined
      : 'it was not tried with tenants, and could keep data of all of them in one place outside of its database. If it keeps all data in its database, declare it: { dataOnlyInDatabase: true, features: […] }');
  if (reason !== undefined) {
    throw new Error(`The plugin '${id}' is listed in onePerTenant: ${reason}`);
  }
  return known ?? { id };
}
