import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { readPolicy } from '../../__testUtils__/readPolicy';

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

/** What a policy may decide about reading entities. */
export const DECISIONS: Record<string, PolicyDecision> = {
  allow: { result: AuthorizeResult.ALLOW },
  deny: { result: AuthorizeResult.DENY },
  owners: when(isOwner),
  kinds: when(isEntityKind({ kinds: ['component', 'LOCATION', 'Template'] })),
  labels: when(hasLabel({ label: 'example.com/Zone', value: 'us' })),
  annotations: when(hasAnnotation({ annotation: 'backstage.io/techdocs-ref' })),
  metadata: when(hasMetadata({ key: 'tags', value: 'java' })),
  spec: when({ not: hasSpec({ key: 'lifecycle', value: 'experimental' }) }),
  several: when({
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
  'what nobody has': when(hasLabel({ label: 'nothing' })),
};

/** A policy that decides as it is told. */
export function changeablePolicy() {
  const state = { decision: DECISIONS.allow };
  const feature = readPolicy(() => state.decision);
  return { state, feature };
}
