import { createTestDatabases } from '@internal/postgres/testUtils';
import { versionSchema } from 'backstage-plugin-mockup-common';
import { BOB, item, testBackend } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

/** A container with items. */
const section = (i: string, items: unknown) =>
  item({ i, component: 'container-section', props: { items } });

describe.each(databases.eachSupportedId())(
  'POST /mockups/:id/versions on %s',
  id => {
    let mockupId: string;
    let path: string;

    const backend = testBackend(databases, id);

    beforeEach(async () => {
      await backend.knex('mockups').delete();
      const { body } = await backend.alice.post('/mockups', { name: 'x' });
      mockupId = body.id;
      path = `/mockups/${mockupId}/versions`;
    });

    it('answers 201 with the version, its address and an entity tag', async () => {
      const response = await backend.bob.post(path, {
        layoutData: [item()],
        versionTag: 'first',
      });
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        id: expect.any(String),
        mockupId,
        versionTag: 'first',
        layoutData: [item()],
        createdBy: BOB,
        createdAt: expect.any(String),
      });
      expect(versionSchema.parse(response.body)).toEqual(response.body);
      expect(response.get('Location')).toBe(
        `/api/mockup${path}/${response.body.id}`,
      );
      const mockup = await backend.alice.get(`/mockups/${mockupId}`);
      expect(mockup.get('ETag')).toBe(response.get('ETag'));
      expect(mockup.body.updatedAt).toBe(response.body.createdAt);
    });

    it.each([
      [
        'a message of 1000 characters',
        { layoutData: [], message: '🙂'.repeat(1000) },
      ],
      [
        'items in containers, two within each other',
        { layoutData: [section('a', [section('b', [item({ i: 'c' })])])] },
      ],
      ['an item in the last row', { layoutData: [item({ y: 999_998, h: 2 })] }],
      [
        'places on a phone',
        {
          layoutData: [
            item({ props: { $phone: { order: 1, hidden: true } } }),
            item({ i: 'b', props: { $phone: {} } }),
          ],
        },
      ],
      [
        '1000 items',
        {
          layoutData: Array.from({ length: 1000 }, (_, n) =>
            item({ i: `${n}` }),
          ),
        },
      ],
    ])('keeps %s as it is', async (_what, body) => {
      const saved = await backend.alice.post(path, body);
      expect(saved.status).toBe(201);
      expect(saved.body).toMatchObject(body);
      const read = await backend.alice.get(`${path}/${saved.body.id}`);
      expect(read.body).toEqual(saved.body);
    });

    it('drops what react-grid-layout keeps of a drag in progress', async () => {
      const { body } = await backend.alice.post(path, {
        layoutData: [item({ moved: false, placeholder: { any: 'thing' } })],
      });
      expect(body.layoutData).toEqual([item()]);
    });

    it.each([
      [{}, 'layoutData is missing, expected a list of layout items'],
      [{ layoutData: {} }, 'layoutData must be a list of layout items'],
      [{ layoutData: ['x'] }, 'layoutData[0] must be a layout item, got "x"'],
      [
        { layoutData: [], versionTag: 't'.repeat(51) },
        'versionTag must be a string of at most 50 characters',
      ],
      [
        { layoutData: [], message: 'm'.repeat(1001) },
        'message must be a string of at most 1000 characters',
      ],
      [{ layoutData: [], createdBy: BOB }, 'unknown field "createdBy"'],
      [
        { layoutData: [section('a', [item()]), item()] },
        'layoutData[1].i must be unique within its layout, got "buy"',
      ],
      [
        { layoutData: [section('a', [item({ w: 0 })])] },
        'layoutData[0].props.items[0].w must be an integer >= 1, got 0',
      ],
      [
        { layoutData: [section('a', [item({ depth: 1 })])] },
        'unknown field "depth" in layoutData[0].props.items[0]',
      ],
      [
        { layoutData: [section('a', 'b')] },
        'layoutData[0].props.items must be a list of layout items, got "b"',
      ],
      [
        { layoutData: [section('a', [1])] },
        'layoutData[0].props.items[0] must be a layout item, got 1',
      ],
      [
        {
          layoutData: [section('a', [section('b', [section('c', [])])])],
        },
        'layoutData[0].props.items[0].props.items[0].component must be one that holds no items: at most 2 containers are within each other',
      ],
      [
        {
          layoutData: [
            section(
              'a',
              Array.from({ length: 1000 }, (_, n) => item({ i: `${n}` })),
            ),
          ],
        },
        'layoutData must be a list of at most 1000 layout items, those within containers included',
      ],
      [
        {
          layoutData: [
            section(
              'a',
              Array.from({ length: 101 }, (_, n) =>
                item({
                  i: `${n}`,
                  component: 'entity-count',
                  props: { label: `${n}`, filter: [] },
                }),
              ),
            ),
          ],
        },
        'layoutData must be a layout whose live components ask for at most 100 different things, not 101',
      ],
      [
        { layoutData: [item({ props: { $phone: 1 } })] },
        'layoutData[0].props.$phone must be an object with an order, with hidden, or with both, got 1',
      ],
      [
        { layoutData: [section('a', [item({ props: { $phone: { x: 1 } } })])] },
        'unknown field "x" in layoutData[0].props.items[0].props.$phone',
      ],
    ])('refuses a body %# with 400', async (body, message) => {
      const response = await backend.alice.post(path, body);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(message);
      await expect(backend.knex('mockup_versions')).resolves.toEqual([]);
    });

    it.each([
      [{ i: undefined }, 'i is missing, expected a string'],
      [{ i: 'a\0' }, 'i must be a string that names the item without NUL'],
      [{ x: -1 }, 'x must be an integer >= 0, got -1'],
      [{ x: 2 ** 53 }, 'x must be an integer >= 0, got 9007199254740992'],
      [
        { y: 999_999, h: 2 },
        'y must be such that y + h is at most 1000000, got 999999',
      ],
      [{ w: 0 }, 'w must be an integer >= 1, got 0'],
      [{ component: undefined }, 'component is missing'],
      [{ props: undefined }, 'props is missing'],
      [{ props: null }, 'props must be an object of component properties'],
      [
        { props: { a: ['b', '\0'] } },
        'layoutData[0].props.a[1] must be a string without NUL characters',
      ],
      [
        { props: { a: '\ud800' } },
        'layoutData[0].props.a must be a string without NUL characters and lone surrogates',
      ],
      [
        { props: nested(101) },
        'props must be an object of component properties nested at most 100 deep',
      ],
      [{ minW: -1 }, 'minW must be an integer >= 0, got -1'],
      [{ resizeHandles: ['up'] }, 'resizeHandles[0] must be one of s, w'],
      [{ color: 'red' }, 'unknown field "color" in layoutData[0]'],
    ])('refuses an item with %j with 400', async (overrides, message) => {
      const response = await backend.alice.post(path, {
        layoutData: [item(overrides)],
      });
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(message);
      await expect(backend.knex('mockup_versions')).resolves.toEqual([]);
    });

    it('refuses containers within each other, however many', async () => {
      const [before, after] = JSON.stringify([section('a', [])]).split('[]');
      const response = await backend.alice
        .post(path)
        .set('Content-Type', 'application/json')
        .send(`{"layoutData":${before.repeat(8000)}[]${after.repeat(8000)}}`);
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain('nested at most 100 deep');
    });

    it('refuses a layout whose numbers would take more than 4 MiB to write out', async () => {
      const response = await backend.alice.post(path, {
        layoutData: [item({ props: { n: Array(20_000).fill(1e300) } })],
      });
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(
        'mockup_versions_layout_size_check',
      );
    });

    it.each([
      ['"n":1e400', 'layoutData[1].props.n', 'Infinity'],
      ['"n":-1e400', 'layoutData[1].props.n', '-Infinity'],
      [
        '"a":{"b.c":[0,{"d":1e309}]}',
        'layoutData[1].props.a["b.c"][1].d',
        'Infinity',
      ],
      [
        '"__proto__":{"n":1e400}',
        'layoutData[1].props.__proto__.n',
        'Infinity',
      ],
    ])(
      'refuses a number that no float can hold, by its path: {%s}',
      async (props, path_, got) => {
        const body = JSON.stringify({
          layoutData: [item(), item({ i: 'b', props: { here: 1 } })],
        });
        const response = await backend.alice
          .post(path)
          .set('Content-Type', 'application/json')
          .send(body.replace('"here":1', props));
        expect(response.status).toBe(400);
        expect(response.body.error.message).toBe(
          `Invalid request body: ${path_} must be a number that a 64-bit float can hold, got ${got}`,
        );
        await expect(backend.knex('mockup_versions')).resolves.toEqual([]);
      },
    );
  },
);

/** Props whose objects are nested to the given depth. */
function nested(depth: number): object {
  return depth === 1 ? {} : { a: nested(depth - 1) };
}
