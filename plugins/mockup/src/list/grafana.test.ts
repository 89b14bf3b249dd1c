import { layoutSchema } from 'backstage-plugin-mockup-common';
import fc from 'fast-check';
import { overlapsIn } from '../__testUtils__/overlaps';
import { toDashboard, toFileMockup } from './grafana';

const panel = (
  type: string,
  [x, y, w, h]: number[],
  more: object = {},
): object => ({ id: 1, type, title: type, gridPos: { x, y, w, h }, ...more });

const dashboard = (...panels: object[]) => ({
  title: 'Nodes',
  schemaVersion: 39,
  panels,
});

const placesOf = (content: unknown) =>
  toDashboard(content)!.layoutData.map(({ component, x, y, w, h }) => [
    component,
    [x, y, w, h],
  ]);

/** Panels as the schema V2 has them. */
const inElements = (panels: any[]) => ({
  spec: {
    elements: Object.fromEntries(
      panels.map(({ type: group, gridPos: _, ...own }, at) => [
        at,
        { spec: { ...own, vizConfig: { kind: 'VizConfig', group } } },
      ]),
    ),
    layout: {
      spec: {
        items: panels.map(({ gridPos }, at) => ({
          spec: {
            element: { name: String(at) },
            ...gridPos,
            ...(gridPos && { width: gridPos.w, height: gridPos.h }),
          },
        })),
      },
    },
  },
});

describe('a dashboard of Grafana', () => {
  it('has its panels in 12 columns, as components of the same kind', () => {
    const { title, layoutData, unknown } = toDashboard({
      ...dashboard(
        panel('text', [0, 0, 24, 3], { options: { content: '# Hello' } }),
        panel('stat', [0, 3, 5, 4]),
        panel('gauge', [5, 3, 7, 4]),
        panel('table', [12, 3, 12, 8]),
        panel('timeseries', [0, 11, 12, 8]),
        panel('piechart', [12, 11, 12, 8]),
      ),
      description: 'All nodes',
    })!;
    expect([title, unknown]).toEqual(['Nodes', []]);
    expect(
      layoutData.map(({ component, x, y, w, h, props }) => [
        component,
        [x, y, w, h],
        props.title ?? props.label,
      ]),
    ).toEqual([
      ['markdown', [0, 0, 12, 3], 'text'],
      ['entity-count', [0, 3, 3, 4], 'stat'],
      ['entity-count', [3, 3, 3, 4], 'gauge'],
      ['table', [6, 3, 6, 8], 'table'],
      ['chart', [0, 11, 6, 8], 'timeseries'],
      ['chart', [6, 11, 6, 8], 'piechart'],
    ]);
    expect(layoutData[0].props.text).toBe('# Hello');
    expect(layoutData.slice(4).map(({ props }) => props.type)).toEqual([
      'line',
      'bar',
    ]);
  });

  it('has headers for its rows, with the panels of folded ones behind them', () => {
    expect(
      placesOf(
        dashboard(
          panel('stat', [0, 0, 24, 4]),
          panel('row', [0, 4, 24, 1], {
            collapsed: true,
            // They keep the place that they have when the row is open.
            panels: [panel('graph', [0, 5, 12, 8])],
          }),
          panel('row', [0, 5, 24, 1], { collapsed: false, panels: [] }),
          panel('table', [12, 6, 12, 6]),
          panel('table', [0, 6, 12, 9]),
        ),
      ),
    ).toEqual([
      ['entity-count', [0, 0, 12, 4]],
      ['header', [0, 4, 12, 2]],
      ['chart', [0, 6, 6, 8]],
      ['header', [0, 14, 12, 2]],
      ['table', [6, 16, 6, 6]],
      ['table', [0, 16, 6, 9]],
    ]);
  });

  it('has panels of the library as the file has them, and by their names otherwise', () => {
    const libraryPanel = (uid: string) => ({
      libraryPanel: { uid, name: uid },
    });
    const ref = { type: 'library-panel-ref' };
    const at = { gridPos: { x: 0, y: 0, w: 24, h: 8 } };
    const panels = [
      { ...at, ...libraryPanel('load') },
      panel('row', [0, 8, 24, 1], { panels: [{ ...libraryPanel('load') }] }),
      { ...at, ...ref, ...libraryPanel('gone') },
      // As the API answered before Grafana 10.
      panel('table', [0, 8, 24, 8], libraryPanel('gone')),
    ];
    const load = {
      uid: 'load',
      model: {
        type: 'gauge',
        title: 'Load',
        gridPos: { x: 3, y: 9, w: 1, h: 1 },
      },
    };
    for (const elements of [{ load }, [load]]) {
      const { layoutData, unknown } = toDashboard({
        ...dashboard(...panels),
        __elements: elements,
      })!;
      expect(
        layoutData.map(({ component, props, w }) => [
          component,
          props.label ?? props.title ?? props.text,
          w,
        ]),
      ).toEqual([
        ['entity-count', 'Load', 12],
        ['text', 'gone (library panel)', 12],
        ['header', 'row', 12],
        ['table', 'table', 12],
        ['entity-count', 'Load', 1],
      ]);
      expect(unknown).toEqual(['gone (library panel)']);
    }
    const element = { kind: 'LibraryPanel', spec: libraryPanel('gone') };
    const items = [{ spec: { element: { name: 'a' }, ...at.gridPos } }];
    expect(
      toDashboard({
        spec: { elements: { a: element }, layout: { spec: { items } } },
      })!.unknown,
    ).toEqual(['gone (library panel)']);
  });

  it('may be of the schema V2, with elements in grids, rows and tabs', () => {
    const element = (group: string) => ({
      kind: 'Panel',
      spec: { title: group, vizConfig: { kind: 'VizConfig', group } },
    });
    const item = (name: string, more: object = {}) => ({
      spec: { element: { kind: 'ElementReference', name }, ...more },
    });
    const grid = (...items: object[]) => ({
      kind: 'GridLayout',
      spec: { items },
    });
    const rows = (...layouts: object[]) => ({
      kind: 'RowsLayout',
      spec: { rows: layouts.map(layout => ({ spec: { title: 'R', layout } })) },
    });
    const placesIn = (layout: object) =>
      placesOf({
        kind: 'Dashboard',
        spec: {
          title: 'New',
          elements: { a: element('stat'), b: element('timeseries') },
          layout,
        },
      });
    const placed = item('a', { x: 12, y: 0, width: 12, height: 4 });
    expect(placesIn(grid(placed))).toEqual([['entity-count', [6, 0, 6, 4]]]);
    expect(placesIn(rows(grid(placed), grid(item('b'), item('a'))))).toEqual([
      ['header', [0, 0, 12, 2]],
      ['entity-count', [6, 2, 6, 4]],
      ['header', [0, 6, 12, 2]],
      ['chart', [0, 8, 4, 8]],
      ['entity-count', [4, 8, 4, 8]],
    ]);
    const tabs = { spec: { tabs: [{ spec: { layout: rows(grid(placed)) } }] } };
    expect(placesIn(tabs)).toEqual([
      ['header', [0, 0, 12, 2]],
      ['entity-count', [6, 2, 6, 4]],
    ]);
  });

  it.each([undefined, null, [], 'x', {}, { mockups: [] }, { rows: [] }])(
    'is not %j',
    content => {
      expect(toDashboard(content)).toBeUndefined();
    },
  );

  it('loses no panel, and has no items that overlap or stand beyond 12 columns, in any schema', () => {
    const number = fc.oneof(
      fc.integer({ min: -3, max: 40 }),
      fc.constantFrom(1e9, Number.NaN, 2.5, '3', null, undefined),
    );
    const any = fc.record(
      {
        type: fc.constantFrom('stat', 'text', 'graph', 'row', 'news', 7),
        title: fc.oneof(fc.string(), fc.constant(null)),
        span: number,
        libraryPanel: fc.constantFrom({ uid: 'a', name: 'A' }, { uid: 7 }, []),
        gridPos: fc.oneof(
          fc.record({ x: number, y: number, w: number, h: number }),
          fc.constant(null),
        ),
      },
      { requiredKeys: [] },
    );
    const row = fc.record({
      type: fc.constant('row'),
      panels: fc.array(any),
      gridPos: fc.record({ y: number }),
    });
    const panels = fc.array(any, { maxLength: 20 });
    const classic = fc.array(fc.oneof(any, row), { maxLength: 40 });
    const found = fc.oneof(
      classic.map(all => ({
        content: dashboard(...all),
        items:
          all.length + all.flatMap(each => Object(each).panels ?? []).length,
      })),
      panels.map(all => ({
        content: { schemaVersion: 14, rows: [{ panels: all }] },
        items: all.length + 1,
      })),
      panels.map(all => ({ content: inElements(all), items: all.length })),
    );
    fc.assert(
      fc.property(found, ({ content, items }) => {
        const imported = toDashboard(content)!;
        const { layoutData } = imported;
        expect(layoutData).toHaveLength(items);
        expect(layoutSchema.safeParse(layoutData).error).toBeUndefined();
        expect(
          Math.max(0, ...layoutData.map(({ x, w }) => x + w)),
        ).toBeLessThan(13);
        expect(overlapsIn(layoutData)).toEqual([]);
        expect(
          toFileMockup(imported, 'user:default/anna').versions,
        ).toHaveLength(1);
      }),
    );
  });
});
