/**
 * A service of Backstage with some methods in place of its own. It keeps all others, also those
 * that a later version of Backstage adds: use it where such a method can't reach what belongs
 * to another tenant, and {@link decorateKnown} elsewhere.
 */
export function decorate<TService extends object>(
  service: TService,
  own: Partial<TService>,
): TService {
  return around(service, own, (method: Function) => method.bind(service));
}

/**
 * The same for a service in which a method that this version does not know could reach what
 * belongs to another tenant, such as a key of the cache without the prefix of the tenant:
 * it is there, and throws.
 *
 * @param name - of the service, for the message
 */
export function decorateKnown<TService extends object>(
  name: string,
  service: TService,
  own: TService,
): TService {
  return around(service, own, (_method, key) => () => {
    throw new Error(
      `The engines and instances of tenants do not have ${key} of Backstage's ${name}: this version of backstage-plugin-catalog-backend-module-tenant-engines can't keep it to one tenant. Upgrade that package`,
    );
  });
}

function around<TService extends object>(
  service: TService,
  own: Partial<TService>,
  onOther: (method: Function, key: string) => unknown,
): TService {
  // Not a copy of the service: many are instances of classes, whose methods a copy lacks.
  return new Proxy(Object.assign(Object.create(service), own), {
    get(target, key) {
      if (Object.hasOwn(target, key)) {
        return Reflect.get(target, key);
      }
      // On the service itself, which may have private fields.
      const value = Reflect.get(service, key);
      return typeof value === 'function' && !(key in Object.prototype)
        ? onOther(value, String(key))
        : value;
    },
  });
}
