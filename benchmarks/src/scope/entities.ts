import { createHash } from 'node:crypto';
import type { Entity } from '@backstage/catalog-model';

/** Stands in a generated entity for what is different in each tenant. */
export const UID = '00000000-0000-0000-0000-00000000feed';

/** Stands for the mark of the tenant, which the name of each of its entities ends in. */
export const MARK = 'any-tenant';

/** Of which `listEntities` is asked for. */
export const KIND = 'component';

const WORDS = (
  'account basket billing branch channel checkout contract courier customer delivery ' +
  'discount export gateway identity import inventory invoice ledger loyalty market ' +
  'message notice offer order partner payment portal price product quote refund report'
).split(' ');

/** Of 20 entities, as catalogs have them. */
const KINDS = [
  ...Array<string>(12).fill('Component'),
  ...Array<string>(4).fill('API'),
  ...Array<string>(2).fill('Resource'),
  'System',
  'Group',
];

/** What every tenant has an entity of, with {@link UID} and {@link MARK} in it. */
export interface Pattern {
  number: number;
  kind: string;
  name: string;
  entity: Entity;
}

/** The entity of a number: about 1 kB of JSON, with a dozen terms. */
export function createPattern(number: number): Pattern {
  const kind = KINDS[number % KINDS.length];
  const name = `${word(number, 1)}-${word(number, 2)}-${number}-${MARK}`;
  const entity: Entity = {
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      namespace: 'default',
      name,
      title: `${word(number, 1)} ${word(number, 2)} ${number}`,
      description: Array.from({ length: 60 + (number % 40) }, (_, index) =>
        word(number + index * index, 5),
      ).join(' '),
      annotations: {
        'backstage.io/managed-by-location': `url:https://git.example.com/${name}/blob/main/catalog-info.yaml`,
      },
      tags: [word(number, 7)],
      uid: UID,
      etag: createHash('sha1').update(`${number}`).digest('hex'),
    },
    spec: {
      type: ['service', 'website', 'library'][number % 3],
      lifecycle: number % 3 === 0 ? 'experimental' : 'production',
      owner: `team-${(number * 31) % 193}`,
    },
  };
  return { number, kind: kind.toLowerCase(), name, entity };
}

/** The mark of the tenant of a number, from 1 on, which is its slug as well. */
export function markOf(tenant: number): string {
  return `tenant-${tenant}`;
}

/** The id of the tenant of a number. */
export function tenantIdOf(tenant: number): string {
  const hex = createHash('md5').update(markOf(tenant)).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What an entity is called in the tenant of a number. */
export function nameIn(tenant: number, { name }: Pattern): string {
  return name.replace(MARK, markOf(tenant));
}

/** Some word, which depends on a number; `salt` tells several of an entity apart. */
function word(number: number, salt: number): string {
  return WORDS[(number * 7919 + salt * 104729) % WORDS.length];
}
