/**
 * A value that all copies of this package in a process have in common: the gate, the plugin that
 * records audit events and any other plugin may each have a copy of their own.
 */
export function commonToCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(`backstage-plugin-catalog-tenancy-node.${name}`);
  const values = globalThis as { [key]?: T };
  return (values[key] ??= create());
}
