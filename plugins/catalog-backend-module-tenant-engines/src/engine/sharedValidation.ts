import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';

/** As `express-openapi-validator` exports it. */
interface ValidationPackage {
  middleware: (options: ValidationOptions) => unknown;
}

interface ValidationOptions {
  apiSpec: string | object;
}

interface Validation {
  options: Omit<ValidationOptions, 'apiSpec'>;
  handlers: unknown;
}

const sharing = new WeakSet<ValidationPackage['middleware']>();

/**
 * Has all catalog plugins of this process validate their requests by the same handlers.
 *
 * Each one that starts compiles the schemas of OpenAPI and of its routes, which is half of the
 * processor time of an engine's start: 65 to 330 ms. The handlers are made of the specification
 * alone, and have nothing of a tenant. Where upstream makes them in another way, each plugin makes
 * its own.
 */
export function shareValidation(
  validation: ValidationPackage | undefined = validationOfCatalog(),
): void {
  if (!validation || sharing.has(validation.middleware)) {
    return;
  }
  const original = validation.middleware;
  const made = new WeakMap<object, Validation[]>();
  const shared = (given: ValidationOptions): unknown => {
    const { apiSpec, ...options } = given;
    if (typeof apiSpec === 'string') {
      return original(given);
    }
    const known = made.get(apiSpec) ?? [];
    made.set(apiSpec, known);
    const found = known.find(each => isDeepStrictEqual(each.options, options));
    if (found) {
      return found.handlers;
    }
    const handlers = original(given);
    known.push({ options, handlers });
    return handlers;
  };
  sharing.add(shared);
  validation.middleware = shared;
}

/** The copy that the catalog plugin of the engines uses. */
export function validationOfCatalog(): ValidationPackage | undefined {
  try {
    return [
      '@backstage/plugin-catalog-backend',
      '@backstage/backend-openapi-utils',
    ].reduce(
      (from, name) => createRequire(from.resolve(name)),
      createRequire(__filename),
    )('express-openapi-validator');
  } catch {
    return undefined;
  }
}
