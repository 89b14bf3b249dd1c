import { createTestDatabases, Random } from '@internal/postgres/testUtils';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { Comparison } from '@internal/catalog-testing/comparison';
import {
  type EngineCatalog,
  ingestCatalog,
  sizes,
} from './__testUtils__/EngineCatalog';
import { generateRequest, Vocabulary } from './__testUtils__/generatedRequests';
import {
  answersDue,
  MEANT_DIFFERENCES,
} from '@internal/catalog-testing/meantDifferences';
import { changeablePolicy, DECISIONS } from './__testUtils__/policies';
import { get, type Send, sender } from '@internal/catalog-testing/requests';

const databases = createTestDatabases({ versions: 'newest', citus: true });
const [[id]] = databases.eachSupportedId();

const entities = Math.ceil(sizes.entities / 5);
const requests = Math.ceil(sizes.requests / 30);

const CONTEXT = `CATALOG_DIFFERENTIAL_SEED=${sizes.seed} CATALOG_DIFFERENTIAL_ENTITIES=${sizes.entities}`;

jest.setTimeout(30 * 60_000);

describe('a policy about catalog.entity.read', () => {
  const policy = changeablePolicy();
  let catalog: EngineCatalog;
  let backend: CatalogBackend;
  let stock: Send;
  let ours: Send;
  let words: Vocabulary;

  const guest = signedInGuest('user:default/user-1');
  const withPermissions = {
    ...guest,
    features: [...guest.features, policy.feature],
  };

  const asGuest = async (of: CatalogBackend): Promise<Send> => {
    const authorization = `Bearer ${await signIn(of)}`;
    return sender(of, { authorization });
  };

  beforeAll(async () => {
    catalog = await ingestCatalog(databases, id, {
      seed: sizes.seed,
      entities,
      ...withPermissions,
    });
    backend = await startCatalogBackend({
      connection: catalog.connection,
      enabled: true,
      ...withPermissions,
    });
    stock = await asGuest(catalog.stock);
    ours = await asGuest(backend);
    words = await Vocabulary.read(catalog);
  });

  it.each(MEANT_DIFFERENCES.filter(({ under }) => under !== undefined))(
    'makes a difference by intent where it decides $under: $why',
    async difference => {
      policy.state.decision = DECISIONS[difference.under!].decision;
      for (const { example, due, without } of await answersDue(
        difference,
        stock,
      )) {
        const actual = { example, ...(await ours(example)) };
        expect(actual).toEqual({ example, ...due });
        expect(actual).not.toEqual({ example, ...without });
      }
    },
  );

  it.each(Object.entries(DECISIONS))(
    'that decides %s is obeyed as by the stock catalog',
    async (_name, { decision, leaves }) => {
      const visible = async () =>
        (await ours(get('/entities/by-query?limit=0'))).body.totalItems;
      policy.state.decision = DECISIONS.allow.decision;
      const all = await visible();
      policy.state.decision = decision;
      expect(share(await visible(), all)).toBe(leaves);
      const comparison = new Comparison(stock, ours);
      const random = new Random(sizes.seed + 3);
      for (const path of [
        '/entities',
        '/entities/by-query?limit=5',
        '/entity-facets?facet=kind&facet=spec.type',
        '/entities/by-query?limit=3&orderField=metadata.name,desc',
      ]) {
        await comparison.compare(get(path));
      }
      for (let index = 0; index < requests; index += 1) {
        await comparison.compare(generateRequest(random, words));
      }
      for (let index = 0; index < requests / 4; index += 1) {
        const [kind, rest] = words.ref(random).split(':');
        if (rest?.includes('/')) {
          const path = `/entities/by-name/${kind}/${rest}`;
          await comparison.compare(get(`${path}/ancestry`));
          await comparison.compare(get(path));
        }
      }
      expect([CONTEXT, comparison.differences]).toEqual([CONTEXT, []]);
      expect(comparison.compared).toBeGreaterThan(requests);
    },
  );
});

function share(visible: number, all: number): 'all' | 'some' | 'none' {
  if (visible === 0) {
    return 'none';
  }
  return visible < all ? 'some' : 'all';
}
