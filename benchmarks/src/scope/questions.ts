import { createPattern, markOf, nameIn, tenantIdOf } from './entities';
import type { Size } from './sizes';

/** What is measured. */
export type Operation = 'getEntity' | 'listEntities';

export const OPERATIONS: Operation[] = ['getEntity', 'listEntities'];

/** One entity of one tenant. */
export interface Question {
  tenantId: string;
  /** What the names of all entities of the tenant end in. */
  mark: string;
  entityRef: string;
  name: string;
}

const COUNT = 5_000;

// Prime, and so without a common divisor with the number of tenants or entities.
const STRIDE = 7_919;

/**
 * Questions about each of the first tenants, one after the other, and any of their
 * entities.
 */
export function createQuestions(
  tenants: number,
  { entitiesPerTenant }: Size,
): Question[] {
  const patterns = Array.from({ length: entitiesPerTenant }, (_, number) =>
    createPattern(number),
  );
  return Array.from({ length: COUNT }, (_, index) => {
    const tenant = 1 + ((index * STRIDE) % tenants);
    const round = Math.floor(index / tenants);
    const pattern = patterns[((index + round) * STRIDE) % entitiesPerTenant];
    const name = nameIn(tenant, pattern);
    return {
      tenantId: tenantIdOf(tenant),
      mark: markOf(tenant),
      entityRef: `${pattern.kind}:default/${name}`,
      name,
    };
  });
}
