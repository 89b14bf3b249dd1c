import type { KnownPlugin } from './KnownPlugin';
import { techdocs } from './techdocs';

/** Plugins that were tried with tenants. */
const KNOWN: readonly KnownPlugin[] = [
  { id: 'notifications' },
  { id: 'scaffolder' },
  { id: 'search' },
  { id: 'signals' },
  techdocs,
  { id: 'user-settings' },
];

/** Plugins that no declaration makes safe, and why. */
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
  const known = KNOWN.find(each => each.id === id);
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
