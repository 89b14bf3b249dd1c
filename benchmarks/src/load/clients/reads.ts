import type { Entity } from '@backstage/catalog-model';
import { createEntity } from '../../catalog/entities';
import {
  assertEntitiesOf,
  assertEqual,
  assertOneRevision,
  assertRefs,
} from '../checks';
import { CHANGING, CHANGING_NAMESPACE, CHANGING_REFS, MARK } from '../entities';
import type { LoadTenant } from '../LoadTenant';
import type { Exchange, Random, Task } from './Exchange';
import { parse, query } from './paths';

/** What `by-query` answers. */
export interface Page {
  items: Entity[];
  totalItems: number;
  pageInfo: { nextCursor?: string };
}

const REFS = 15;
const PAGE = 20;
const LIST = 100;
const KIND = 'Component';
const WORDS = ['basket', 'ice', 'order', 'mark-of', '-1'];

/** What people and plugins read of a catalog, and how often. */
export const READS: Task[] = [
  { weight: 30, start: (tenant, random) => [() => byName(tenant, random)] },
  { weight: 10, start: (tenant, random) => [() => byRefs(tenant, random)] },
  { weight: 10, start: pages },
  { weight: 10, start: tenant => [() => whatChanges(tenant)] },
  { weight: 8, start: (tenant, random) => [() => list(tenant, random)] },
  { weight: 8, start: tenant => [() => facets(tenant)] },
  { weight: 4, start: (tenant, random) => [() => fullText(tenant, random)] },
];

function byName(tenant: LoadTenant, random: Random): Exchange {
  const { entity, ref } = createEntity(random(tenant.stable));
  const { namespace, name } = entity.metadata;
  return {
    what: 'by name',
    tenant,
    method: 'GET',
    path: `/api/catalog/entities/by-name/${entity.kind}/${namespace}/${name}`,
    check(answer) {
      const found = parse<Entity>(answer);
      assertEntitiesOf(tenant, [found], 1);
      assertRefs([found], [ref]);
    },
  };
}

/** Some that never change, all that do, and one that is not there. */
function byRefs(tenant: LoadTenant, random: Random): Exchange {
  const stable = Array.from(
    { length: REFS },
    () => createEntity(random(tenant.stable)).ref,
  );
  const refs = [...stable, ...CHANGING_REFS];
  const visible = tenant.visible();
  return {
    what: `by refs, ${refs.length} of them`,
    tenant,
    method: 'POST',
    path: '/api/catalog/entities/by-refs',
    body: { entityRefs: [...refs, 'component:default/nowhere'] },
    check(answer) {
      const { items } = parse<{ items: Array<Entity | null> }>(answer);
      const found = items.flatMap(item => item ?? []);
      assertEqual('the missing one', String(items.at(-1)), 'null');
      assertEntitiesOf(tenant, found, refs.length);
      assertRefs(found, refs);
      assertOneRevision(tenant, found.slice(stable.length), visible);
    },
  };
}

/** A page by filter and order, and the next one by its cursor. */
function pages(tenant: LoadTenant) {
  const total = tenant.countOf(KIND);
  let cursor = '';
  const checkPage = (answer: string, seen: number) => {
    const { items, totalItems, pageInfo } = parse<Page>(answer);
    const left = Math.max(0, Math.min(PAGE, total - seen));
    assertEqual(`total of ${tenant.slug}`, totalItems, total);
    assertEntitiesOf(tenant, items, left);
    cursor = pageInfo.nextCursor ?? '';
  };
  return [
    (): Exchange => ({
      what: `page of ${PAGE}, filter and order`,
      tenant,
      method: 'GET',
      path: query('/api/catalog/entities/by-query', {
        limit: PAGE,
        filter: `kind=${KIND}`,
        orderField: 'metadata.name,asc',
      }),
      check: answer => checkPage(answer, 0),
    }),
    ...(total > PAGE
      ? [
          (): Exchange => ({
            what: 'next page, by its cursor',
            tenant,
            method: 'GET',
            path: query('/api/catalog/entities/by-query', {
              limit: PAGE,
              cursor,
            }),
            check: answer => checkPage(answer, PAGE),
          }),
        ]
      : []),
  ];
}

/** All of what one mutation wrote, and nothing of another one. */
export function whatChanges(
  tenant: LoadTenant,
  what = 'list of what changes',
): Exchange {
  const visible = tenant.visible();
  return {
    what,
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities', {
      filter: `metadata.namespace=${CHANGING_NAMESPACE}`,
    }),
    check(answer) {
      const items = parse<Entity[]>(answer);
      assertEntitiesOf(tenant, items, CHANGING + 1);
      assertOneRevision(tenant, items, visible);
    },
  };
}

function list(tenant: LoadTenant, random: Random): Exchange {
  const offset = random(tenant.total);
  return {
    what: `list of up to ${LIST}`,
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities', { limit: LIST, offset }),
    check(answer) {
      const items = parse<Entity[]>(answer);
      assertEntitiesOf(tenant, items, Math.min(LIST, tenant.total - offset));
    },
  };
}

function facets(tenant: LoadTenant): Exchange {
  const mark = `metadata.annotations.${MARK}`;
  return {
    what: 'facets',
    tenant,
    method: 'GET',
    path: query('/api/catalog/entity-facets', {
      facet: ['kind', 'spec.type', 'metadata.tags', mark],
    }),
    check(answer) {
      const { facets: found } = parse<{
        facets: Record<string, Array<{ value: string; count: number }>>;
      }>(answer);
      assertEqual(
        `facets of ${tenant.slug}`,
        JSON.stringify(found[mark]),
        JSON.stringify([{ value: tenant.mark, count: tenant.total }]),
      );
      assertEqual(
        `kinds of ${tenant.slug}`,
        found.kind.reduce<number>((sum, { count }) => sum + count, 0),
        tenant.total,
      );
    },
  };
}

function fullText(tenant: LoadTenant, random: Random): Exchange {
  return {
    what: 'full text',
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities/by-query', {
      limit: PAGE,
      fullTextFilterTerm: WORDS[random(WORDS.length)],
      fullTextFilterFields: `metadata.name,metadata.annotations.${MARK}`,
      orderField: 'metadata.name,asc',
    }),
    check(answer) {
      const { items, totalItems } = parse<Page>(answer);
      assertEntitiesOf(tenant, items, Math.min(PAGE, totalItems));
    },
  };
}
