import type { Entity } from '@backstage/catalog-model';
import { assertEntitiesOf, assertEqual } from '../checks';
import { MARK } from '../entities';
import type { LoadTenant } from '../LoadTenant';
import type { Exchange, Random, Step, Task } from './Exchange';
import { parse, query } from './paths';
import type { Page } from './reads';

const BY_QUERY = '/api/catalog/entities/by-query';
const PAGE = 5;

/** What somebody else's ids, cursors and values are good for: nothing. */
export function intrusionsInto(tenants: LoadTenant[]): Task {
  return {
    weight: 2,
    start(tenant, random) {
      const others = tenants.filter(other => other !== tenant);
      return intrude(tenant, others[random(others.length)], random);
    },
  };
}

function intrude(
  tenant: LoadTenant,
  other: LoadTenant,
  random: Random,
): Step[] {
  let uid = '';
  let cursor = '';
  const look: Step = () => ({
    ...page(other, {}),
    check(answer) {
      const { items, pageInfo } = parse<Page>(answer);
      assertEntitiesOf(other, items, PAGE);
      uid = String(items[random(PAGE)].metadata.uid);
      cursor = pageInfo.nextCursor!;
    },
  });
  return [
    look,
    () => ({
      what: 'by the uid that another tenant has',
      tenant,
      method: 'GET',
      path: `/api/catalog/entities/by-uid/${uid}`,
      status: 404,
      check: () => {},
    }),
    () => ({
      ...page(tenant, { cursor }),
      what: "page by another tenant's cursor",
      check(answer) {
        const { items } = parse<Page>(answer);
        assertEntitiesOf(tenant, items, items.length);
      },
    }),
    () => ({
      ...page(tenant, {
        filter: `metadata.annotations.${MARK}=${other.mark}`,
      }),
      what: "page by another tenant's value",
      check(answer) {
        const { items, totalItems } = parse<Page>(answer);
        assertEntitiesOf(tenant, items, 0);
        assertEqual('entities of another tenant', totalItems, 0);
      },
    }),
    () => ({
      what: 'by the uid that it has itself',
      tenant: other,
      method: 'GET',
      path: `/api/catalog/entities/by-uid/${uid}`,
      check: answer => assertEntitiesOf(other, [parse<Entity>(answer)], 1),
    }),
  ];
}

function page(
  tenant: LoadTenant,
  parameters: Record<string, string>,
): Exchange {
  return {
    what: `page of ${PAGE}`,
    tenant,
    method: 'GET',
    path: query(BY_QUERY, { limit: PAGE, ...parameters }),
    check: () => {},
  };
}
