import { sampleOf } from '@internal/postgres/sample';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { ClientConfig } from 'pg';
import { variants } from './variants';
import { variantsOf, Walk } from './walk';

const databases = createTestDatabases({ versions: 'every' });

// All of them are walked by `npm run catalog-variants`, and some by the gate.
const SAMPLE = 3;
const SEED = process.env.VARIANTS_SEED ?? 'npm test';

const VERSIONS: Record<string, number> = { POSTGRES_14: 14, POSTGRES_18: 18 };

describe('the variants', () => {
  it('have names of their own, and are more than a hundred', () => {
    const names = variants.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(100);
  });

  it('are chosen by the seed alone', () => {
    const chosen = (seed: string) => sampleOf(variants, 5, seed);
    expect(chosen('one')).toEqual(chosen('one'));
    expect(chosen('one')).not.toEqual(chosen('two'));
  });
});

describe.each(databases.eachSupportedId())('a catalog on %s', id => {
  const version = VERSIONS[id];
  let walk: Walk;
  beforeAll(async () => {
    const knex = await databases.init(id);
    const { connection } = knex.client.config;
    // Knex hides the password from enumeration.
    const { password } = connection;
    walk = await Walk.begin({
      connection: { ...(connection as ClientConfig), password },
      version,
    });
  });
  afterAll(() => walk.end());

  it.each(sampleOf(variantsOf(variants, version), SAMPLE, SEED))(
    'with $name goes forward and back to the same dump, or is refused unchanged',
    async variant => {
      await expect(walk.run(variant)).resolves.toBeUndefined();
    },
  );

  it('is not as it was where the walk leaves something', async () => {
    await expect(
      walk.run({
        name: 'a catalog without a reason to be refused',
        given: 'select',
        refusedBy: 'tables',
      }),
    ).rejects.toThrow('the preflight differs');
  });
});
