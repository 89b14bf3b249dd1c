import type { Entity } from '@backstage/catalog-model';
import { TENANT_MARK } from '../constants';
import type { CallerRequest } from './Caller';
import { EntityReader } from './EntityReader';
import type { Reply } from './Reply';

const SIZE = { tenants: 2, entities: 20 };
const FACET = `metadata.annotations.${TENANT_MARK}`;

type Answer = (request: CallerRequest) => unknown;

/** Has a reader ask for each kind once, of a backend that answers so. */
async function readAll(answer: Answer): Promise<string[]> {
  const reader = new EntityReader(SIZE, 0);
  const wrong: string[] = [];
  for (let step = 0; step < 5; step++) {
    await reader
      .step({
        ask: async (request: CallerRequest): Promise<Reply> => ({
          answered: true,
          status: 200,
          body: answer(request),
        }),
      } as Parameters<EntityReader['step']>[0])
      .catch(error => wrong.push(String(error)));
  }
  return wrong;
}

function entity(tenant: string | undefined, name = 'item-0'): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: {
      name,
      annotations: tenant ? { [TENANT_MARK]: tenant } : {},
    },
  };
}

/** What a backend answers that has the right entities of some tenant. */
function answerOf(tenantOf: (tenant: string) => string): Answer {
  return ({ path, body, tenant }) => {
    const mark = tenantOf(tenant!);
    const items = Array.from({ length: 10 }, () => entity(mark));
    if (path.includes('by-name')) {
      return entity(mark, path.split('/').at(-1));
    }
    if (path.includes('by-refs')) {
      const { entityRefs } = body as { entityRefs: string[] };
      return { items: entityRefs.map(ref => entity(mark, ref.split('/')[1])) };
    }
    if (path.includes('facets')) {
      return {
        facets: { [FACET]: [{ value: mark, count: SIZE.entities }] },
      };
    }
    return path.includes('by-query')
      ? { items, totalItems: SIZE.entities }
      : items;
  };
}

describe('EntityReader', () => {
  it('takes the entities of the tenant that it asks for', async () => {
    await expect(readAll(answerOf(tenant => tenant))).resolves.toEqual([]);
  });

  it('finds those of another tenant in an answer of any kind', async () => {
    await expect(readAll(answerOf(() => 'tenant-9'))).resolves.toHaveLength(5);
  });

  it('finds that some are missing in an answer of any kind', async () => {
    const right = answerOf(tenant => tenant);
    const wrong = await readAll(request => {
      const answer = right(request) as Record<string, unknown>;
      if (Array.isArray(answer)) {
        return answer.slice(1);
      }
      if (Array.isArray(answer.items)) {
        return { ...answer, items: answer.items.slice(1) };
      }
      return 'facets' in answer
        ? { facets: { [FACET]: [] } }
        : entity(request.tenant, 'item-x');
    });
    expect(wrong).toHaveLength(5);
  });
});
