import type { Entity } from '@backstage/catalog-model';
import { TENANT_MARK } from '../constants';
import type { Caller, CallerRequest } from './Caller';
import type { Client } from './clients';
import { expectSame } from './Reply';

/** The entities that each tenant has all the time, by their number. */
export const nameOf = (number: number) => `item-${number}`;

/** The slug of a tenant, by its number. */
export const slugOf = (number: number) => `tenant-${number}`;

interface Read {
  request: CallerRequest;
  check(body: unknown): void;
}

const PAGE = 10;
const REFS = 5;
const FACET = `metadata.annotations.${TENANT_MARK}`;
const FILTER = 'filter=kind=component';

/** Reads entities in all the ways there are, of another tenant each time. */
export class EntityReader implements Client {
  readonly #tenants: number;
  readonly #entities: number;
  #step: number;

  constructor(
    size: { tenants: number; entities: number },
    /** Where it begins, so that not all readers ask for the same. */
    first: number,
  ) {
    this.#tenants = size.tenants;
    this.#entities = size.entities;
    this.#step = first;
  }

  async step(caller: Caller): Promise<void> {
    this.#step += 1;
    const tenant = slugOf(this.#step % this.#tenants);
    const reads = [
      this.#byName(tenant),
      this.#page(tenant),
      this.#byRefs(tenant),
      this.#list(tenant),
      this.#facets(tenant),
    ];
    const { request, check } = reads[this.#step % reads.length];
    const reply = await caller.ask({ ...request, tenant });
    if (reply.answered) {
      check(reply.body);
    }
  }

  #byName(tenant: string): Read {
    const name = nameOf(this.#step % this.#entities);
    return {
      request: {
        method: 'GET',
        path: `/api/catalog/entities/by-name/component/default/${name}`,
      },
      check: body => expectEntities([body as Entity], tenant, [name]),
    };
  }

  #page(tenant: string): Read {
    return {
      request: {
        method: 'GET',
        path: `/api/catalog/entities/by-query?${FILTER}&limit=${PAGE}`,
      },
      check: body => {
        const { items, totalItems } = body as {
          items: Entity[];
          totalItems: number;
        };
        expectEntities(items, tenant);
        expectSame('The size of a page', items.length, PAGE);
        expectSame('The size of a list', totalItems, this.#entities);
      },
    };
  }

  #list(tenant: string): Read {
    return {
      request: {
        method: 'GET',
        path: `/api/catalog/entities?${FILTER}&limit=${PAGE}`,
      },
      check: body => {
        const items = body as Entity[];
        expectEntities(items, tenant);
        expectSame('The size of a list', items.length, PAGE);
      },
    };
  }

  #byRefs(tenant: string): Read {
    const names = Array.from({ length: REFS }, (_, index) =>
      nameOf((this.#step + index) % this.#entities),
    );
    return {
      request: {
        method: 'POST',
        path: '/api/catalog/entities/by-refs',
        body: { entityRefs: names.map(name => `component:default/${name}`) },
      },
      check: body =>
        expectEntities((body as { items: Entity[] }).items, tenant, names),
    };
  }

  #facets(tenant: string): Read {
    return {
      request: {
        method: 'GET',
        path: `/api/catalog/entity-facets?${FILTER}&facet=${FACET}`,
      },
      check: body =>
        expectSame('A facet', body, {
          facets: { [FACET]: [{ value: tenant, count: this.#entities }] },
        }),
    };
  }
}

function expectEntities(
  items: Entity[],
  tenant: string,
  names?: string[],
): void {
  for (const { metadata } of items) {
    expectSame('A tenant', metadata.annotations?.[TENANT_MARK], tenant);
  }
  if (names) {
    expectSame(
      'The names of entities',
      items.map(({ metadata }) => metadata.name),
      names,
    );
  }
}
