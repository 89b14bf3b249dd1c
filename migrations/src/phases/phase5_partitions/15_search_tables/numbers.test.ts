import { createTestDatabases, Random } from '@internal/postgres/testUtils';
import { readSqlFile } from '../../../sqlFile';

const databases = createTestDatabases();

/** Any double, and around 2^53 and beyond, where whole numbers are not exact any more. */
function numbers(random: Random, count: number): string[] {
  const bits = new DataView(new ArrayBuffer(8));
  const digits = (length: number) =>
    Array.from({ length }, () => random.below(10)).join('');
  return Array.from({ length: count }, (_, index) => {
    switch (index % 4) {
      case 0:
        bits.setUint32(0, random.below(2 ** 32));
        bits.setUint32(4, random.below(2 ** 32));
        return String(bits.getFloat64(0));
      case 1:
        return String(BigInt(2 ** 53) + BigInt(random.below(2 ** 32)));
      case 2:
        // As a person writes them: few digits, and zeros.
        return `${1 + random.below(9)}${digits(random.below(20))}${'0'.repeat(
          random.below(20),
        )}`;
      default:
        return `-${1 + random.below(9)}${digits(random.below(40))}`;
    }
  }).filter(text => Number.isFinite(Number(text)));
}

describe.each(databases.eachSupportedId())('numbers on %s', id => {
  it('are terms as JavaScript writes them, however large', async () => {
    const knex = await databases.init(id);
    const [statement] =
      /^create or replace function entity_terms_number\([^]*?\$body\$;$/m.exec(
        readSqlFile('terms'),
      )!;
    await knex.raw(statement);
    const written = [
      ...['9007199254740991', '9007199254740992', '9007199254740993'],
      ...['9007199254740995', '18014398509481985', '-9007199254740993'],
      ...[
        '0',
        '1e-6',
        '0.0000009',
        '1.50',
        '-0.1',
        '1e21',
        '1e22',
        '1e23',
        '123456789012345680000',
        '1e400',
        '5e-324',
      ],
      ...numbers(new Random(20261121), 20_000),
    ];
    const { rows } = await knex.raw(
      `select array_agg(entity_terms_number(n) order by i) as terms
         from unnest(?::text[]::numeric[]) with ordinality numbers (n, i)`,
      [written],
    );
    const terms: string[] = rows[0].terms;
    const wrong = written
      .map((text, index) => ({ text, term: terms[index] }))
      .filter(({ text, term }) => term !== String(Number(text)));
    expect(wrong).toEqual([]);
    expect(terms).toHaveLength(written.length);
  });
});
