import type {
  AuthService,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import { RESOURCE_TYPE_CATALOG_ENTITY } from '@backstage/plugin-catalog-common/alpha';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import {
  AuthorizeResult,
  type PermissionCondition,
  type PermissionCriteria,
  type PermissionRuleParams,
} from '@backstage/plugin-permission-common';
import {
  createConditionAuthorizer,
  type PermissionRuleset,
} from '@backstage/plugin-permission-node';
import {
  type CatalogStore,
  DEFAULT_TENANT_ID,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { z } from 'zod';
import { readJsonBody } from './request/parseBody';
import { assertBounded } from './request/parsePredicate';

type Conditions = PermissionCriteria<PermissionCondition<string>>;
type PermissionRuleParam = NonNullable<PermissionRuleParams>[string];

const conditionsSchema: z.ZodType<Conditions> = z.lazy(() =>
  z.union([
    z.object({ anyOf: z.tuple([conditionsSchema], conditionsSchema) }),
    z.object({ allOf: z.tuple([conditionsSchema], conditionsSchema) }),
    z.object({ not: conditionsSchema }),
    z.object({
      rule: z.string(),
      resourceType: z.string(),
      // Each rule validates its parameters.
      params: z.record(z.string(), z.custom<PermissionRuleParam>()).optional(),
    }),
  ]),
);

const requestSchema = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      resourceRef: z.union([z.string(), z.array(z.string()).nonempty()]),
      resourceType: z.string(),
      conditions: conditionsSchema,
    }),
  ),
});

/**
 * Applies permission conditions to entities of the request's tenant, for the permission
 * backend. For the default tenant, the stock catalog applies them to its own rows.
 *
 * Only other plugins may call it, as in Backstage: the result does not depend on what the user
 * may read.
 */
export function applyConditions(options: {
  auth: AuthService;
  httpAuth: HttpAuthService;
  store: Pick<CatalogStore, 'readEntitiesByRefs'>;
  getRuleset: () => PermissionRuleset<Entity, EntitiesSearchFilter>;
}): Router {
  const { auth, httpAuth, store, getRuleset } = options;
  const router = PromiseRouter();

  router.post(
    '/.well-known/backstage/permissions/apply-conditions',
    async (req, res) => {
      const { tenantId } = tenantOf(req);
      const credentials = await httpAuth.credentials(req);
      const isPlugin = auth.isPrincipal(credentials, 'user')
        ? credentials.principal.actor !== undefined
        : auth.isPrincipal(credentials, 'service');
      if (tenantId === DEFAULT_TENANT_ID || !isPlugin) {
        return 'next';
      }
      const body = await readJsonBody<object>(req, res, { type: 'object' });
      // A batch of another plugin may have many.
      assertBounded(body, 'request body', { objects: Infinity });
      const parsed = requestSchema.safeParse(body);
      if (!parsed.success) {
        throw new InputError(
          `Invalid request body: ${z.prettifyError(parsed.error)}`,
        );
      }

      const { items } = parsed.data;
      const isEntity = (type: string) => type === RESOURCE_TYPE_CATALOG_ENTITY;
      if (!items.every(({ resourceType }) => isEntity(resourceType))) {
        // Resource types of other modules, which do not support tenants.
        return 'next';
      }
      const refs = [...new Set(items.flatMap(item => item.resourceRef))];
      const found = await store.readEntitiesByRefs(tenantId, refs);
      const entities = new Map(
        refs.map((ref, index) => [ref, parse(found[index])]),
      );
      const holds = createConditionAuthorizer(getRuleset());
      const decide = (conditions: Conditions, ref: string) =>
        holds(
          {
            result: AuthorizeResult.CONDITIONAL,
            pluginId: 'catalog',
            resourceType: RESOURCE_TYPE_CATALOG_ENTITY,
            conditions,
          },
          entities.get(ref),
        )
          ? AuthorizeResult.ALLOW
          : AuthorizeResult.DENY;
      res.json({
        items: items.map(({ id, resourceRef, conditions }) => ({
          id,
          result: Array.isArray(resourceRef)
            ? resourceRef.map(ref => decide(conditions, ref))
            : decide(conditions, resourceRef),
        })),
      });
      return undefined;
    },
  );
  return router;
}

function parse(json: string | null): Entity | undefined {
  return json === null ? undefined : JSON.parse(json);
}
