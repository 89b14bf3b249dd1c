import type { Entity } from '@backstage/catalog-model';
import type { Random } from '@internal/postgres';
import type { MutationResult } from 'backstage-plugin-catalog-tenancy-node';
import {
  assertEqual,
  type Exchange,
  type LoadTenant,
  parse,
  SOURCE,
  stableEntity,
} from '../load/requests';

const LIFECYCLES = ['experimental', 'production', 'deprecated'];

/**
 * A mutation that changes some entities, whichever they are: of some 40 terms of each, an
 * annotation, a label, a tag with its value and, now and then, the lifecycle. Names, kinds
 * and the mark of the tenant stay, by which the answers to reads are looked at.
 */
export function change(
  tenant: LoadTenant,
  random: Random,
  { count, revision }: { count: number; revision: number },
): Exchange {
  const numbers = random.sample([...Array(tenant.stable).keys()], count);
  return {
    what: 'change of entities',
    tenant,
    method: 'POST',
    path: `/api/benchmark/mutations/${tenant.slug}`,
    body: {
      type: 'delta',
      source: SOURCE,
      added: numbers.map(number => changedEntity(tenant, number, revision)),
      removed: [],
    },
    check(answer) {
      const { updated } = parse<MutationResult>(answer);
      assertEqual('updated', updated, numbers.length);
    },
  };
}

function changedEntity(
  { slug }: LoadTenant,
  number: number,
  revision: number,
): Entity {
  const entity = stableEntity(slug, number);
  const { annotations, labels, tags = [] } = entity.metadata;
  return {
    ...entity,
    metadata: {
      ...entity.metadata,
      annotations: { ...annotations, 'example.com/build': `${revision}` },
      labels: { ...labels, region: `eu-${revision % 6}` },
      tags: [...tags.slice(1), `release-${revision % 20}`],
    },
    spec: {
      ...entity.spec,
      lifecycle: LIFECYCLES[revision % LIFECYCLES.length],
    },
  };
}
