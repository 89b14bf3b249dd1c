import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { readPolicy } from '@internal/catalog-testing/readPolicy';

const { hasAnnotation, hasLabel, hasMetadata, hasSpec, isEntityKind } =
  catalogConditions;

const when = (
  conditions: Parameters<typeof createCatalogConditionalDecision>[1],
) => createCatalogConditionalDecision(catalogEntityReadPermission, conditions);

const isOwner = catalogConditions.isEntityOwner({
  claims: [
    'group:default/group-0',
    'group:default/group-1',
    'user:default/user-1',
  ],
});

/** What a policy may decide about reading entities, and how many that leaves. */
export const DECISIONS: Record<
  string,
  { decision: PolicyDecision; leaves: 'all' | 'some' | 'none' }
> = {
  allow: { decision: { result: AuthorizeResult.ALLOW }, leaves: 'all' },
  deny: { decision: { result: AuthorizeResult.DENY }, leaves: 'none' },
  owners: { decision: when(isOwner), leaves: 'some' },
  kinds: {
    decision: when(
      isEntityKind({ kinds: ['component', 'LOCATION', 'Template'] }),
    ),
    leaves: 'some',
  },
  labels: {
    decision: when(hasLabel({ label: 'example.com/Zone', value: 'us' })),
    leaves: 'some',
  },
  annotations: {
    decision: when(hasAnnotation({ annotation: 'backstage.io/techdocs-ref' })),
    leaves: 'some',
  },
  metadata: {
    decision: when(hasMetadata({ key: 'tags', value: 'java' })),
    leaves: 'some',
  },
  spec: {
    decision: when({
      not: hasSpec({ key: 'lifecycle', value: 'experimental' }),
    }),
    leaves: 'some',
  },
  several: {
    decision: when({
      anyOf: [
        { allOf: [isOwner, { not: isEntityKind({ kinds: ['api'] }) }] },
        {
          allOf: [
            isEntityKind({ kinds: ['Component', 'Location'] }),
            {
              anyOf: [
                hasSpec({ key: 'type', value: 'service' }),
                hasSpec({ key: 'type', value: 'generated' }),
                hasMetadata({ key: 'title' }),
              ],
            },
          ],
        },
        hasAnnotation({ annotation: 'example.com/count', value: '7' }),
      ],
    }),
    leaves: 'some',
  },
  'a label that no entity has': {
    decision: when(hasLabel({ label: 'nothing' })),
    leaves: 'none',
  },
};

/** A policy whose decision a test sets. */
export function changeablePolicy() {
  const state = { decision: DECISIONS.allow.decision };
  const feature = readPolicy(() => state.decision);
  return { state, feature };
}
