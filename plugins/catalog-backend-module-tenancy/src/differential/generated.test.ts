import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '../__testUtils__/startCatalogBackend';
import { Comparison } from './__testUtils__/comparison';
import {
  type EngineCatalog,
  ingestCatalog,
} from './__testUtils__/EngineCatalog';
import { generateRequest } from './__testUtils__/generatedRequests';
import { malformedRequests } from './__testUtils__/malformedRequests';
import { MEANT_DIFFERENCES } from './__testUtils__/meantDifferences';
import { Random } from './__testUtils__/Random';
import { type Send, sender } from './__testUtils__/Sender';
import { sizes } from './__testUtils__/sizes';
import { Vocabulary } from './__testUtils__/Vocabulary';

const databases = createTestDatabases();

const CONTEXT = `CATALOG_DIFFERENTIAL_SEED=${sizes.seed} CATALOG_DIFFERENTIAL_ENTITIES=${sizes.entities}`;

jest.setTimeout(30 * 60_000);

// On one version of PostgreSQL: what is compared is the same on all.
describe('a generated catalog that the stock engine has ingested', () => {
  let catalog: EngineCatalog;
  let backend: CatalogBackend;
  let stock: Send;
  let ours: Send;
  let words: Vocabulary;

  beforeAll(async () => {
    catalog = await ingestCatalog(databases, 'POSTGRES_18', sizes);
    backend = await startCatalogBackend({
      connection: catalog.connection,
      enabled: true,
    });
    stock = sender(catalog.stock);
    ours = sender(backend);
    words = await Vocabulary.read(catalog);
  });

  it('is all there', async () => {
    const { body } = await ours({ method: 'GET', path: '/entities' });
    expect(body.length).toBeGreaterThan(sizes.entities * 0.9);
    expect(body).toEqual(
      (await stock({ method: 'GET', path: '/entities' })).body,
    );
  });

  it('is answered as by the stock catalog, whatever is asked', async () => {
    const comparison = new Comparison(stock, ours, CONTEXT);
    const random = new Random(sizes.seed + 1);
    for (let index = 0; index < sizes.requests; index += 1) {
      await comparison.compare(generateRequest(random, words));
    }
    expect(comparison.compared).toBeGreaterThanOrEqual(sizes.requests);
  });

  it('is refused as by the stock catalog, whatever is malformed', async () => {
    const comparison = new Comparison(stock, ours, CONTEXT);
    for (const request of malformedRequests()) {
      await comparison.compare(request);
    }
  });

  it.each(MEANT_DIFFERENCES)('differs by intent: $why', async difference => {
    const { example } = difference;
    const answers = [await stock(example), await ours(example)] as const;
    expect(answers[1]).not.toEqual(answers[0]);
    expect(difference.explains(example, ...answers)).toBe(true);
  });
});
