import type { Entity } from '@backstage/catalog-model';
import type { MutationResult } from 'backstage-plugin-catalog-tenancy-node';
import { assertEntitiesOf, assertEqual } from '../checks';
import { BENCHMARK_PATH } from '../constants';
import { CHANGING } from '../entities';
import { LoadTenant } from '../LoadTenant';
import type { Exchange, Random, Step, Task } from './Exchange';
import { parse, query } from './paths';
import { type Page, whatChanges } from './reads';

const SOURCE = 'load';

/**
 * What an entity provider of a tenant does. One client of a tenant may have it. After a
 * change that was refused, or answered wrongly, it does nothing any more.
 */
export const MUTATION: Task = {
  weight: 16,
  start: tenant => (tenant.isChanging ? [] : [() => mutation(tenant)]),
};

/** Signs a tenant up, and has a first look at it, which others do with theirs. */
export const SIGN_UP: Task = { weight: 2, start: signUp };

/** Fills a tenant with what it has to begin with. */
export function filling(
  tenant: LoadTenant,
  entities: Entity[] = tenant.initialEntities(),
  what = 'first mutation of a new tenant',
): Exchange {
  return {
    what,
    tenant,
    method: 'POST',
    path: `${BENCHMARK_PATH}/mutations/${tenant.slug}`,
    body: { type: 'delta', source: SOURCE, added: entities, removed: [] },
    check(answer) {
      const { inserted } = parse<MutationResult>(answer);
      assertEqual('inserted', inserted, entities.length);
    },
  };
}

export function creation(tenant: LoadTenant): Exchange {
  const { slug } = tenant;
  return {
    what: 'create a tenant',
    tenant,
    method: 'POST',
    path: '/api/tenants',
    body: { tenant_slug: slug, tenant_name: `Tenant ${slug}` },
    status: 201,
    check(answer) {
      const created = parse<{ tenant_slug: string }>(answer);
      assertEqual('slug', created.tenant_slug, slug);
    },
  };
}

function mutation(tenant: LoadTenant): Exchange {
  const { revision, added, removed } = tenant.beginChange();
  return {
    what: `mutation of ${CHANGING + 2} entities`,
    tenant,
    method: 'POST',
    path: `${BENCHMARK_PATH}/mutations/${tenant.slug}`,
    body: {
      type: 'delta',
      source: SOURCE,
      added,
      removed: [{ entityRef: removed }],
    },
    check(answer) {
      const { inserted, updated, deleted } = parse<MutationResult>(answer);
      assertEqual(
        'inserted, updated and deleted',
        [inserted, updated, deleted].join(', '),
        [1, CHANGING, 1].join(', '),
      );
      tenant.acknowledge(revision);
    },
  };
}

function signUp(_: LoadTenant, random: Random): Step[] {
  const tenant = new LoadTenant(`new-${random(2 ** 31).toString(36)}`, 10);
  return [
    () => creation(tenant),
    () => emptyPage(tenant),
    () => filling(tenant),
    () => whatChanges(tenant, 'first list of a new tenant'),
  ];
}

function emptyPage(tenant: LoadTenant): Exchange {
  return {
    what: 'first page of a new tenant',
    tenant,
    method: 'GET',
    path: query('/api/catalog/entities/by-query', { limit: 20 }),
    check(answer) {
      const { items, totalItems } = parse<Page>(answer);
      assertEntitiesOf(tenant, items, 0);
      assertEqual('entities of a new tenant', totalItems, 0);
    },
  };
}
