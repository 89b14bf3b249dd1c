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

  it.each([undefined, null, [], 'x', {}, { mockups: [] }, { rows: [] }])(
    'is not %j',
    content => {
      expect(toDashboard(content)).toBeUndefined();
    },
  );

  it('loses no panel, and has no items that overlap or stand beyond 12 columns', () => {
    const number = fc.oneof(
      fc.integer({ min: -3, max: 40 }),
      fc.constantFrom(1e9, Number.NaN, 2.5, '3', null, undefined),
    );
    const any = fc.record(
      {
        type: fc.constantFrom('stat', 'text', 'graph', 'row', 'news', 7),
        title: fc.oneof(fc.string(), fc.constant(null)),
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
    const panels = fc.array(fc.oneof(any, row), { maxLength: 40 });
    fc.assert(
      fc.property(panels, all => {
        const imported = toDashboard(dashboard(...all))!;
        const items =
          all.length + all.flatMap(each => Object(each).panels ?? []).length;
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
