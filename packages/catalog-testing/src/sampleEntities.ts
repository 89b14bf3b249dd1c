import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
} from '@backstage/catalog-model';

const LOCATION = 'url:https://example.com/catalog-info.yaml';
const OWNER = { owner: 'team-a' };

/** Entities of several kinds, each with relations, as an entity provider hands them over. */
export function sampleEntities(): Entity[] {
  return [
    entity('Group', 'team-a', { type: 'team', children: [] }),
    entity('User', 'alice', { memberOf: ['team-a'] }),
    entity('System', 'search', OWNER),
    entity('Resource', 'db', { ...OWNER, type: 'database' }),
    ...Array.from({ length: 24 }, (_, index) =>
      entity('Component', `Service-${index}`, {
        ...OWNER,
        type: 'service',
        lifecycle: 'production',
        system: 'search',
        dependsOn: ['resource:db'],
      }),
    ),
  ];
}

function entity(kind: string, name: string, spec: Entity['spec']): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      name,
      annotations: {
        [ANNOTATION_LOCATION]: LOCATION,
        [ANNOTATION_ORIGIN_LOCATION]: LOCATION,
      },
    },
    spec,
  };
}
