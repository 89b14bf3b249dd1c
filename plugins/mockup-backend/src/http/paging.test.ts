import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { createHash, randomUUID } from 'node:crypto';
import { type Mockup, MockupClient } from 'backstage-plugin-mockup-common';
import { DEFAULT_TENANT_ID } from '../database/openMockupStores';
import {
  ALICE,
  BOB,
  item,
  testBackend,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

const ORDERS = [
  'name,asc',
  'name,desc',
  'createdAt,asc',
  'createdAt,desc',
  'updatedAt,asc',
  'updatedAt,desc',
] as const;

describe.each(databases.eachSupportedId())('pages on %s', id => {
  let client: MockupClient;

  const alice = { token: mockCredentials.user.token(ALICE) };

  const backend = testBackend(databases, id);

  beforeAll(async () => {
    ({ client } = backend);
  });

  beforeEach(async () => {
    await backend.knex('mockups').delete();
  });

  /** Creates 60 mockups, whose names and times are in different orders. */
  async function createSixty(): Promise<Mockup[]> {
    await backend.knex.raw(
      `insert into mockups (name, owner, created_at, updated_at)
       select 'm' || lpad((n * 7 % 60)::text, 2, '0'), :owner, at, at
         from generate_series(0, 59) n,
              lateral (select clock_timestamp() at time zone 'utc'
                         - (60 - n) * interval '1 ms' as at) times`,
      { owner: ALICE },
    );
    const { items } = await client.listMockups(
      { orderBy: 'createdAt,asc' },
      alice,
    );
    return items;
  }

  /** Where `Link` leads to, relative to the plugin. */
  function nextOf(link: string | undefined): string | undefined {
    return /^<\/api\/mockup(.*)>; rel="next"$/.exec(link ?? '')?.[1];
  }

  /** Reads all pages, doing something between any two. */
  async function readAll(
    start: string,
    between: (
      page: number,
      sofar: Mockup[],
    ) => Promise<unknown> = async () => {},
  ): Promise<Mockup[]> {
    const all: Mockup[] = [];
    let at: string | undefined = start;
    for (let page = 1; at; page += 1) {
      // So that a list without an end fails instead of going on.
      expect(page).toBeLessThan(40);
      const { status, body, headers } = await backend.alice.get(at);
      expect([at, status]).toEqual([at, 200]);
      all.push(...body);
      at = nextOf(headers.link);
      await between(page, all);
    }
    return all;
  }

  const idsOf = (mockups: { id: string }[]) => mockups.map(each => each.id);

  it.each(ORDERS)(
    'ordered by %s lose no mockup that changes between two of them, and repeat no other',
    async orderBy => {
      const created = await createSixty();
      const touched = new Set<string>();
      const read = await readAll(
        `/mockups?orderBy=${orderBy}&limit=10`,
        async (page, sofar) => {
          if (page > 6) {
            return;
          }
          // One that was read, and one that was not, to either end of the names.
          const unread = created.filter(
            ({ id: each }) => !idsOf(sofar).includes(each),
          );
          const victims = [sofar[page * 3], unread[3]].filter(Boolean);
          for (const [index, { id: victim }] of victims.entries()) {
            touched.add(victim);
            await client.updateMockup(
              victim,
              { name: `${index % 2 === page % 2 ? 'a' : 'z'}${page}` },
              alice,
            );
          }
          await client.createMockup({ name: `new ${page}` }, alice);
          const total = await backend.alice.get('/mockups?limit=1');
          expect(total.headers['x-total-count']).toBe(String(60 + page));
        },
      );
      const counts = new Map<string, number>();
      idsOf(read).forEach(each =>
        counts.set(each, (counts.get(each) ?? 0) + 1),
      );
      const countOf = ({ id: each }: Mockup) => counts.get(each) ?? 0;
      expect(created.filter(each => countOf(each) === 0)).toEqual([]);
      const quiet = created.filter(
        each => orderBy.startsWith('createdAt') || !touched.has(each.id),
      );
      expect(quiet.filter(each => countOf(each) !== 1)).toEqual([]);
      expect(touched.size).toBeGreaterThan(5);
    },
  );

  it('have a change that was under way, and not to be seen, when the first was read', async () => {
    await createSixty();
    const { rows } = await backend.knex.raw(
      'select id from mockups order by updated_at limit 1',
    );
    const { body, headers } = await (async () => {
      const transaction = await backend.knex.transaction();
      try {
        await transaction.raw(
          `update mockups set updated_at = clock_timestamp() at time zone 'utc' where id = ?`,
          [rows[0].id],
        );
        const first = await backend.alice.get('/mockups?limit=59');
        await transaction.commit();
        return first;
      } catch (error) {
        await transaction.rollback();
        throw error;
      }
    })();
    expect(idsOf(body)).not.toContain(rows[0].id);
    const second = await backend.alice.get(nextOf(headers.link)!);
    expect(idsOf(second.body)).toEqual([rows[0].id]);
  });

  it('lead on from a query with a question mark in a value', async () => {
    await createSixty();
    await backend.knex('mockups').update({ name: 'Why?' });
    const read = await readAll('/mockups?search=why?&limit=40');
    expect(read).toHaveLength(60);
  });

  it('of versions leave out those that are saved meanwhile, and lose or repeat none', async () => {
    const { mockup } = await client.createMockup({ name: 'x' }, alice);
    const save = () =>
      client.saveVersion(mockup.id, { layoutData: [item()] }, alice);
    const saved: string[] = [];
    for (let n = 0; n < 25; n += 1) {
      saved.unshift((await save()).version.id);
    }
    const read = await readAll(`/mockups/${mockup.id}/versions?limit=10`, save);
    expect(idsOf(read)).toEqual(saved);
  });

  describe('refuse with 400, by name', () => {
    let cursor: string;
    let ofVersions: string;
    let versions: string;

    beforeEach(async () => {
      await createSixty();
      const cursorOf = async (path: string) => {
        const { headers } = await backend.alice.get(path);
        return new URLSearchParams(nextOf(headers.link)!.split('?')[1]).get(
          'cursor',
        )!;
      };
      cursor = await cursorOf(`/mockups?owner=${ALICE}&search=m&limit=1`);
      const { items } = await client.listMockups({ limit: 1 }, alice);
      versions = `/mockups/${items[0].id}/versions`;
      for (let n = 0; n < 2; n += 1) {
        await client.saveVersion(items[0].id, { layoutData: [] }, alice);
      }
      ofVersions = await cursorOf(`${versions}?limit=1`);
    });

    const mine = `owner=${ALICE}&search=m`;
    it.each([
      [
        'of another owner',
        () => `/mockups?owner=${BOB}&search=m&cursor=${cursor}`,
      ],
      ['of another search', () => `/mockups?owner=${ALICE}&cursor=${cursor}`],
      [
        'of another order',
        () => `/mockups?${mine}&orderBy=name,asc&cursor=${cursor}`,
      ],
      ['of versions', () => `/mockups?${mine}&cursor=${ofVersions}`],
      ['of mockups, for versions', () => `${versions}?cursor=${cursor}`],
      [
        'that is damaged',
        () => `/mockups?${mine}&cursor=${cursor.replace(/./, 'X')}`,
      ],
      [
        'that is cut off',
        () => `/mockups?${mine}&cursor=${cursor.slice(0, -1)}`,
      ],
      ['that is empty', () => `/mockups?${mine}&cursor=`],
      ['that was made up', () => `/mockups?${mine}&cursor=${'x'.repeat(5000)}`],
      ['twice', () => `/mockups?${mine}&cursor=${cursor}&cursor=${cursor}`],
    ])('a cursor %s', async (_what, path) => {
      const response = await backend.alice.get(path());
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        'Invalid query: cursor must be',
      );
      expect(response.body.error.message.length).toBeLessThan(300);
    });

    it.each([
      ['no JSON', '{"since'],
      ['a snapshot in no order', { snapshot: '9:3:5' }],
      ['a snapshot that is too large', { snapshot: `1:${'9'.repeat(19)}:` }],
      ['a time that is none', { since: '2026-99-99T99:99:99.000000' }],
      ['NUL', { after: { key: '\u0000', id: randomUUID() } }],
    ])('a cursor with a right digest and %s', async (_what, position) => {
      const [text, digest] = cursor.split('.');
      const asText = (value: string) =>
        Buffer.from(value).toString('base64url');
      const digestOf = (value: string) =>
        createHash('sha256')
          .update(
            JSON.stringify([
              [DEFAULT_TENANT_ID, 'mockups', ALICE, 'm', 'updatedAt,desc'],
              value,
            ]),
          )
          .digest('base64url')
          .slice(0, 16);
      expect(digestOf(text)).toBe(digest);
      const genuine = JSON.parse(Buffer.from(text, 'base64url').toString());
      const forged = asText(
        typeof position === 'string'
          ? position
          : JSON.stringify({ ...genuine, ...position }),
      );
      const response = await backend.alice.get(
        `/mockups?${mine}&cursor=${forged}.${digestOf(forged)}`,
      );
      expect(response.status).toBe(400);
    });

    it('an offset beside a cursor', async () => {
      const response = await backend.alice.get(
        `/mockups?${mine}&cursor=${cursor}&offset=1`,
      );
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        'offset must be left out where there is a cursor, got 1',
      );
    });

    it('and take it where it is right', async () => {
      const response = await backend.alice.get(
        `/mockups?${mine}&cursor=${cursor}`,
      );
      expect(response.status).toBe(200);
      // The one on the first page, too: its versions are a change.
      expect(response.body).toHaveLength(60);
    });
  });
});
