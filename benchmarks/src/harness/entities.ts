import type { Entity } from '@backstage/catalog-model';
import { createHash } from 'node:crypto';

// Everything is made out of a number, so that a run does not differ from the one
// before.

const WORDS = (
  'account address archive basket billing booking branch catalog channel checkout ' +
  'claim contract courier customer delivery discount document event export factory ' +
  'gateway identity import inventory invoice ledger loyalty mailing market message ' +
  'notice offer order partner payment portal price product profile quote refund ' +
  'report return review search session stock supplier survey ticket transfer voucher'
).split(' ');

const LANGUAGES = ['java', 'typescript', 'go', 'python', 'kotlin'];
// Prime, so that each has entities of all kinds.
const TEAMS = 193;
const SYSTEMS = 397;

/** Of 20 entities, as catalogs have them. */
const KINDS = [
  ...Array<string>(12).fill('Component'),
  ...Array<string>(3).fill('API'),
  ...Array<string>(2).fill('Resource'),
  'System',
  'Group',
  'User',
];

const SPEC_TYPES: Record<string, string[]> = {
  API: ['openapi', 'grpc', 'asyncapi'],
  Component: ['service', 'website', 'library', 'service'],
  Group: ['team'],
  Resource: ['database', 's3-bucket', 'queue'],
};

type Relation = NonNullable<Entity['relations']>[number];

/** An entity as the stock catalog has it after all processing. */
export interface GeneratedEntity {
  id: string;
  ref: string;
  hash: string;
  entity: Entity;
  locationKey: string;
  relations: Relation[];
}

/** Makes the entities of as many numbers, from the first one on. */
export type CreateEntities = (
  first: number,
  length: number,
) => GeneratedEntity[];

/** The entities of as many numbers. */
export function createEntities(
  first: number,
  length: number,
): GeneratedEntity[] {
  return Array.from({ length }, (_, index) => createEntity(first + index));
}

/** The entity of a number: 1 to 2 kB as JSON. */
export function createEntity(number: number): GeneratedEntity {
  const kind = KINDS[number % KINDS.length];
  const name = `${word(number, 1)}-${word(number, 2)}-${number}`;
  const namespace = number % 5 === 3 ? 'payments' : 'default';
  const id = uuidOf(`id ${number}`);
  const hash = createHash('sha1').update(`hash ${number}`).digest('hex');
  const url = `https://git.example.com/${namespace}/${name}/blob/main/catalog-info.yaml`;
  const relations = relationsOf(number, kind);
  const entity: Entity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      namespace,
      annotations: {
        'backstage.io/managed-by-location': `url:${url}`,
        'backstage.io/managed-by-origin-location': `url:${url}`,
        'backstage.io/view-url': url,
        'backstage.io/edit-url': url.replace('/blob/', '/edit/'),
        'backstage.io/source-location': `url:https://git.example.com/${namespace}/${name}/`,
        'backstage.io/techdocs-ref': 'dir:.',
        'example.com/pager': `P${number % 9973}`,
      },
      name,
      title: `${word(number, 1)} ${word(number, 2)} ${number}`,
      description: sentence(number),
      labels: {
        tier: `tier-${number % 4}`,
        region: `eu-${number % 6}`,
      },
      tags: [
        LANGUAGES[Math.floor(number / 7) % LANGUAGES.length],
        word(number, 7),
        word(number, 11),
      ],
      links: Array.from({ length: number % 4 }, (_, index) => ({
        url: `https://wiki.example.com/${name}/${index}`,
        title: word(number + index, 13),
      })),
      uid: id,
      etag: hash,
    },
    spec: specOf(number, kind),
    relations,
  };
  return {
    id,
    ref: `${kind}:${namespace}/${name}`.toLocaleLowerCase('en-US'),
    hash,
    entity,
    locationKey: `url:${url}`,
    relations,
  };
}

function specOf(number: number, kind: string): Entity['spec'] {
  const types = SPEC_TYPES[kind];
  const owner = team(number);
  return {
    ...(types && { type: types[Math.floor(number / 3) % types.length] }),
    ...(kind === 'User'
      ? {
          profile: { displayName: `${word(number, 3)} ${word(number, 4)}` },
          memberOf: [owner],
        }
      : {
          lifecycle: number % 3 === 0 ? 'experimental' : 'production',
          owner,
          system: `system-${number % SYSTEMS}`,
          dependsOn: dependenciesOf(number),
        }),
    ...(kind === 'API' && { definition: `# ${sentence(number)}` }),
  };
}

/** In the order in which the stock catalog adds them. */
function relationsOf(number: number, kind: string): Relation[] {
  if (kind === 'User') {
    return [{ type: 'memberOf', targetRef: `group:default/${team(number)}` }];
  }
  return [
    ...dependenciesOf(number).map(targetRef => ({
      type: 'dependsOn',
      targetRef,
    })),
    { type: 'ownedBy', targetRef: `group:default/${team(number)}` },
    {
      type: 'partOf',
      targetRef: `system:default/system-${number % SYSTEMS}`,
    },
  ];
}

function dependenciesOf(number: number): string[] {
  return Array.from(
    { length: number % 5 },
    (_, index) => `component:default/${word(number + index, 19)}-${index}`,
  );
}

function team(number: number): string {
  return `team-${(number * 31) % TEAMS}`;
}

function sentence(number: number): string {
  const length = 15 + (number % 40);
  return Array.from({ length }, (_, index) =>
    word(number + index * index, 5),
  ).join(' ');
}

/** Some word, which depends on a number; `salt` tells several of an entity apart. */
function word(number: number, salt: number): string {
  return WORDS[(number * 7919 + salt * 104729) % WORDS.length];
}

function uuidOf(text: string): string {
  const hex = createHash('md5').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
