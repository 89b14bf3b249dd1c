const GRAFANA_COLUMNS = 24;
const PANEL_HEIGHT = 8;
const AUTO_COLUMNS = 3;

/** What is read of a panel; anything may be in the file. */
export interface Panel {
  type?: unknown;
  title?: unknown;
  gridPos?: unknown;
  panels?: unknown;
  options?: unknown;
  content?: unknown;
  libraryPanel?: unknown;
}

/**
 * The panels of a dashboard in the schema V2, where a layout of grids, rows and tabs names elements;
 * nothing for another one. Rows and tabs become folded rows.
 */
export function panelsOfElements(model: unknown): Panel[] | undefined {
  const elements = fieldOf(model, 'elements');
  const layout = fieldOf(model, 'layout');
  return isObject(elements) && isObject(layout)
    ? panelsIn(layout, elements)
    : undefined;
}

function panelsIn(layout: unknown, elements: unknown): Panel[] {
  const spec = fieldOf(layout, 'spec');
  const sections = fieldOf(spec, 'rows') ?? fieldOf(spec, 'tabs');
  if (Array.isArray(sections)) {
    return sections.map((section, y) => {
      const own = fieldOf(section, 'spec');
      return {
        type: 'row',
        title: fieldOf(own, 'title'),
        gridPos: { y },
        panels: panelsIn(fieldOf(own, 'layout'), elements).flatMap(panel =>
          Array.isArray(panel.panels) ? panel.panels : [panel],
        ),
      };
    });
  }
  const items = fieldOf(spec, 'items');
  const columns = columnsOf(spec);
  return (Array.isArray(items) ? items : []).map((item, at) => {
    const own = fieldOf(item, 'spec');
    return {
      ...elementOf(own, elements),
      gridPos: gridOf(own) ?? inColumns(at, columns),
    };
  });
}

function elementOf(item: unknown, elements: unknown): Panel {
  const name = fieldOf(fieldOf(item, 'element'), 'name');
  const element = fieldOf(fieldOf(elements, String(name)), 'spec');
  const config = fieldOf(element, 'vizConfig');
  const kind = fieldOf(config, 'kind');
  return {
    // The first of these schemas had the type as the kind.
    type: kind === 'VizConfig' ? fieldOf(config, 'group') : kind,
    title: fieldOf(element, 'title'),
    options: fieldOf(fieldOf(config, 'spec'), 'options'),
    libraryPanel: fieldOf(element, 'libraryPanel'),
  };
}

function gridOf(item: unknown) {
  const [x, y, w, h] = ['x', 'y', 'width', 'height'].map(name =>
    fieldOf(item, name),
  );
  return w === undefined ? undefined : { x, y, w, h };
}

/** How many panels an automatic grid has beside each other. */
function columnsOf(spec: unknown): number {
  const most = Number(fieldOf(spec, 'maxColumnCount')) || AUTO_COLUMNS;
  return Math.min(Math.max(Math.floor(most), 1), GRAFANA_COLUMNS);
}

function inColumns(at: number, columns: number) {
  const w = Math.floor(GRAFANA_COLUMNS / columns);
  const y = Math.floor(at / columns) * PANEL_HEIGHT;
  return { x: (at % columns) * w, y, w, h: PANEL_HEIGHT };
}

/** Whether a value has fields. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A field of its own of a value. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name)
    ? value[name]
    : undefined;
}
