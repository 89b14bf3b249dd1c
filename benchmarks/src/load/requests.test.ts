import type { Entity } from '@backstage/catalog-model';
import {
  assertEntitiesOf,
  assertOneRevision,
  assertPiecesTellOnlyOf,
  assertRefs,
  assertTellsOnlyOf,
  CHANGING,
  changingEntities,
  LoadTenant,
  movingRef,
} from './requests';

const ours = new LoadTenant('ours', 3);
const theirs = new LoadTenant('theirs', 3);

const own = () => changingEntities(ours.slug, 0);
const foreign = () => changingEntities(theirs.slug, 0);

describe('what must not be told to a tenant', () => {
  it('is the mark of another one, wherever it stands', () => {
    expect(() => assertTellsOnlyOf(ours, JSON.stringify(own()))).not.toThrow();
    expect(() =>
      assertTellsOnlyOf(ours, `{"facets":["${theirs.mark}"]}`),
    ).toThrow('ours was told of theirs');
  });

  it.each([1, 2, 7, 1_000])(
    'is the mark of another one in an answer in pieces of %i',
    async length => {
      const inPieces = async function* pieces(text: string) {
        for (let first = 0; first < text.length; first += length) {
          yield text.slice(first, first + length);
        }
      };
      const text = JSON.stringify(own());
      await assertPiecesTellOnlyOf(ours, inPieces(text));
      for (const mixed of [
        JSON.stringify([...own(), foreign()[0], ...own()]),
        `${text}${theirs.mark}`,
      ]) {
        await expect(
          assertPiecesTellOnlyOf(ours, inPieces(mixed)),
        ).rejects.toThrow('ours was told of');
      }
    },
  );

  it('is the mark of one whose slug begins alike', () => {
    expect(() => assertTellsOnlyOf(ours, `"${ours.mark}-2"`)).toThrow(
      'ours was told of ours-2',
    );
  });

  it('is an entity of another one, or one without a mark', () => {
    const entities = [...own().slice(1), foreign()[0]];
    expect(() => assertEntitiesOf(ours, own(), CHANGING + 1)).not.toThrow();
    expect(() => assertEntitiesOf(ours, entities, CHANGING + 1)).toThrow(
      'mark-of-theirs',
    );
    const unmarked: Entity[] = [
      { apiVersion: 'v1', kind: 'Component', metadata: { name: 'a' } },
    ];
    expect(() => assertEntitiesOf(ours, unmarked, 1)).toThrow('undefined');
  });
});

it('finds what is missing from an answer', () => {
  expect(() => assertEntitiesOf(ours, own(), CHANGING + 2)).toThrow(
    'entities of ours',
  );
  expect(() => assertRefs(own().slice(-1), [movingRef(1)])).toThrow('refs');
});

describe('a change', () => {
  const visible = (oldest: number, newest: number) => ({
    oldest,
    newest: () => newest,
  });
  const at = (revision: number) => changingEntities(ours.slug, revision);

  it.each([
    ['acknowledged before the request', at(1), true],
    ['sent before the answer', at(2), true],
    ['overtaken before the request', at(0), false],
    ['not sent by anybody', at(3), false],
    ['half made', [...at(1).slice(0, 2), ...at(2).slice(2)], false],
    ['not there', [], false],
  ])('that is %s is right: %3$s', (_, entities, right) => {
    let found = true;
    try {
      assertOneRevision(ours, entities, visible(1, 2));
    } catch {
      found = false;
    }
    expect(found).toBe(right);
  });

  it('is made by one client at a time', () => {
    const tenant = new LoadTenant('changed', 0);
    const { revision } = tenant.beginChange();
    expect(tenant.isChanging).toBe(true);
    expect(() => tenant.beginChange()).toThrow('under way');
    expect(tenant.visible().oldest).toBe(0);
    tenant.acknowledge(revision);
    expect(tenant.isChanging).toBe(false);
    expect(tenant.visible().oldest).toBe(1);
    expect(tenant.beginChange().removed).toBe(movingRef(1));
  });
});
