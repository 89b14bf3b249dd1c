import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
} from '@backstage/catalog-model';

const LOCATION = 'url:https://example.com/catalog-info.yaml';
const TEAMS = ['team-a', 'team-b', 'team-c'];

/** About forty entities of every kind, as an entity provider hands them over. */
export function sampleEntities(): Entity[] {
  return [
    ...TEAMS.map(name =>
      entity('Group', name, {
        type: 'team',
        children: [],
        profile: { displayName: `The ${name}` },
      }),
    ),
    ...['alice', 'bob', 'carol'].map((name, index) =>
      entity('User', name, {
        memberOf: [TEAMS[index]],
        profile: { email: `${name}@example.com` },
      }),
    ),
    ...['payments', 'search'].map(name =>
      entity('System', name, { owner: 'team-a', domain: 'shop' }),
    ),
    entity('Domain', 'shop', { owner: 'team-b' }),
    ...range(4).map(index =>
      entity('API', `api-${index}`, {
        type: index % 2 ? 'openapi' : 'grpc',
        lifecycle: 'production',
        owner: TEAMS[index % 3],
        system: 'payments',
        definition: 'x'.repeat(300),
      }),
    ),
    ...range(4).map(index =>
      entity('Resource', `db-${index}`, {
        type: 'database',
        owner: TEAMS[index % 3],
        size: index * 10,
      }),
    ),
    ...range(24).map(component),
  ];
}

function component(index: number): Entity {
  return entity(
    'Component',
    `Service-${String(index).padStart(2, '0')}`,
    {
      type: ['service', 'website', 'library'][index % 3],
      lifecycle: index % 4 ? 'production' : 'Experimental',
      owner: index % 5 ? TEAMS[index % 3] : 'user:default/alice',
      ...(index % 2 && { system: 'search' }),
      providesApis: [`api-${index % 4}`],
      dependsOn: [`resource:db-${index % 4}`],
      ...(index % 6 === 0 && { nested: { deep: [{ flag: true }, 'text', 7] } }),
    },
    {
      namespace: index % 8 === 7 ? 'other' : undefined,
      title: `Title ${index}, with a comma`,
      description: index === 3 ? 'd'.repeat(250) : undefined,
      tags: ['java', 'Go', 'rust']
        .slice(0, index % 4)
        .map(tag => tag.toLowerCase()),
      labels: { tier: String(index % 3), 'example.com/zone': 'eu' },
      annotations: {
        'backstage.io/techdocs-ref': 'dir:.',
        'example.com/count': String(index),
      },
      links: index % 7 ? [] : [{ url: 'https://example.com', title: 'Home' }],
    },
  );
}

function entity(
  kind: string,
  name: string,
  spec: Entity['spec'],
  { annotations, ...metadata }: Partial<Entity['metadata']> = {},
): Entity {
  return JSON.parse(
    JSON.stringify({
      apiVersion: 'backstage.io/v1alpha1',
      kind,
      metadata: {
        ...metadata,
        name,
        annotations: {
          ...annotations,
          [ANNOTATION_LOCATION]: LOCATION,
          [ANNOTATION_ORIGIN_LOCATION]: LOCATION,
        },
      },
      spec,
    }),
  );
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
