import {
  describedRoutes,
  fitsPatterns,
  servedRoutes,
} from '@internal/catalog-testing/describedFetch';
import { Validator } from '@seriousme/openapi-schema-validator';
import type express from 'express';
import { createRouter } from '../http/createRouter';
import type { MakeOperation } from '../http/operations';
import type { RouterOptions } from '../http/RouterOptions';
import { createOpenApiDocument } from './createOpenApiDocument';

type Document = {
  components: { schemas: Record<string, any> };
};

const document = createOpenApiDocument() as Document;

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('describes every route of the plugin, and no other; each that changes something is audited', () => {
    // No route is called: the router only has to be made.
    // Of each route in turn: whether its audit event is severe enough for the trail of the tenant.
    const recorded: boolean[] = [];
    const handler: express.RequestHandler = () => {};
    const operation: MakeOperation = (_name, { changes }) => {
      recorded.push(changes);
      return [handler];
    };
    const served = servedRoutes(createRouter({ operation } as RouterOptions));
    expect(served.filter((_, index) => recorded[index])).toEqual(
      served.filter(route => !route.startsWith('get ')),
    );
    expect(recorded).toHaveLength(served.length);
    expect([...new Set(served)].sort()).toEqual(
      describedRoutes(document).sort(),
    );
    expect(served).not.toHaveLength(0);
  });

  it.each([
    ['CreateTenant', 'tenant_name', ' ', '\0'],
    ['CreateShare', 'owner', 'group:default/a', 'a'],
    ['CreateShare', 'owner', 'group:a', 'group:a/b/c'],
    ['PutTenantSignIn', 'issuer', 'https://id.example.com/a', 'file:///a'],
    ['PutTenantSignIn', 'issuer', 'http://id/@a', 'https://a:b@id.example.com'],
    ['PutTenantSignIn', 'issuer', 'https://[::1]:8080', 'https://id?x=1'],
  ])(
    'says of %s what its %s may be: %j, and not %j',
    (schema, field, fit, unfit) => {
      const described = document.components.schemas[schema].properties[field];
      expect(fitsPatterns(described, fit)).toBe(true);
      expect(fitsPatterns(described, unfit)).toBe(false);
    },
  );
});
