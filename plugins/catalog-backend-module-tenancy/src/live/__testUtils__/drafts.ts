import type { Entity } from '@backstage/catalog-model';
import { stringifyEntityRef } from '@backstage/catalog-model';
import type { Random } from '@internal/postgres/testUtils';

const KINDS = ['Component', 'Component', 'API', 'Resource', 'System', 'Group'];
const TEAMS = ['team-a', 'team-b', 'Team-C', 'nobody'];
const TITLES = [
  'Plain',
  'é ß 漢字 😀',
  `it's "quoted" \\ 100%_`,
  '<b>&amp;</b>',
];

/** Longer than what the stock catalog makes a search term of, which has no NUL. */
const LONG = 'x'.repeat(250);

/** What PostgreSQL's jsonb cannot hold, and the stock catalog can. */
const INCONVERTIBLE = [`${LONG}\u0000`, `${LONG}\ud800`];

/** An entity as a source has it now. */
export interface Draft {
  readonly ref: string;
  readonly entity: Entity;
  /** What its source has made of it: each is another one. */
  readonly version: number;
  readonly convertible: boolean;
}

let versions = 0;

/** A new entity. */
export function draft(random: Random, name: string): Draft {
  const kind = random.pick(KINDS);
  return versionOf(random, kind, name);
}

/** The same entity, changed. */
export function change(random: Random, { entity }: Draft): Draft {
  return versionOf(random, entity.kind, entity.metadata.name);
}

/** The same entity, with something in it that cannot be carried over. */
export function spoil(random: Random, { entity, ref }: Draft): Draft {
  versions += 1;
  return {
    ref,
    version: versions,
    convertible: false,
    entity: {
      ...entity,
      metadata: { ...entity.metadata, description: random.pick(INCONVERTIBLE) },
      spec: { ...entity.spec, version: versions },
    },
  };
}

function versionOf(random: Random, kind: string, name: string): Draft {
  versions += 1;
  const version = versions;
  const entity: Entity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      name,
      title: random.pick(TITLES),
      ...(random.chance(0.3) && { description: 'd'.repeat(random.below(400)) }),
      ...(random.chance(0.5) && {
        tags: random.sample(['java', 'go', 'rust'], 2),
      }),
      ...(random.chance(0.5) && {
        labels: { tier: String(random.below(3)) },
      }),
      annotations: { 'example.com/count': String(random.below(100)) },
    },
    spec: {
      ...specOf(random, kind),
      version,
      numbers: [0.1, 1e21, -0, random.next()],
      ...(random.chance(0.2) && { deep: [{ flag: true }, 'text', null, 7] }),
    },
  };
  return {
    ref: stringifyEntityRef(entity),
    entity,
    version,
    convertible: true,
  };
}

function specOf(random: Random, kind: string): Entity['spec'] {
  const owner = random.pick(TEAMS);
  switch (kind) {
    case 'Group':
      return {
        type: 'team',
        children: random.sample(TEAMS, random.below(3)),
      };
    case 'System':
      return { owner, domain: 'shop' };
    case 'API':
      return {
        type: 'openapi',
        lifecycle: 'production',
        owner,
        definition: 'openapi: 3 '.repeat(random.below(2000)) || 'none',
      };
    case 'Resource':
      return { type: 'database', owner };
    default:
      return {
        type: random.pick(['service', 'Website']),
        lifecycle: 'production',
        owner,
        system: random.pick(['payments', 'search']),
        dependsOn: random
          .sample(['resource:a', 'resource:b', 'component:c'], 2)
          .sort(),
      };
  }
}
