import {
  type LayoutItem,
  MOCKUP_LIMITS,
  type MockupFileMockup,
  type MockupFileVersion,
} from 'backstage-plugin-mockup-common';
import { type Box, GRID } from '../components/grid';

const GRAFANA_COLUMNS = 24;
const TALLEST = 100;
const SECTION_HEIGHT = 2;

/** A dashboard of Grafana as a layout. */
export interface Dashboard {
  title: string;
  description?: string;
  layoutData: LayoutItem[];
  /** The panels for which there is no component: their titles and types. */
  unknown: string[];
}

type Props = Record<string, unknown>;

/** What is read of a panel; anything may be in the file. */
interface Panel {
  type?: unknown;
  title?: unknown;
  gridPos?: unknown;
  panels?: unknown;
  options?: unknown;
  content?: unknown;
}

const NUMBERS = new Set(['stat', 'singlestat', 'gauge']);
const TABLES = new Set(['table', 'table-old']);
const LINES = new Set(['timeseries', 'graph', 'trend', 'candlestick']);
const BARS = new Set([
  'barchart',
  'bargauge',
  'piechart',
  'grafana-piechart-panel',
  'histogram',
]);

/** What a chart shows until its author has typed values: a panel has queries, and no values. */
const SAMPLE = [3, 7, 5, 9, 4].map((value, at) => ({
  label: String(at + 1),
  value,
}));

/**
 * The dashboard that a JSON file of Grafana has, as it is exported there; nothing for another file.
 * Its 24 columns become 12, rows become headers with their panels below, also those that are
 * folded, and nothing overlaps.
 */
export function toDashboard(content: unknown): Dashboard | undefined {
  const all = fieldOf(content, 'panels');
  if (!Array.isArray(all)) {
    return undefined;
  }
  const layoutData: LayoutItem[] = [];
  const unknown: string[] = [];
  let bottom = 0;
  const place = (component: string, props: Props, box: Box) => {
    const i = `${component}-${layoutData.length + 1}`;
    layoutData.push({ i, ...box, component, props });
    bottom = Math.max(bottom, box.y + box.h);
  };
  for (const { row, panels } of sectionsOf(all.filter(isObject))) {
    if (row) {
      const title = titleOf(row) || 'Row';
      const box = { x: 0, y: bottom, w: GRID.cols, h: SECTION_HEIGHT };
      place('header', { title, level: 3 }, box);
    }
    const section = layoutData.length;
    const from = bottom;
    for (const panel of panels) {
      const box = placeOf(panel);
      // Grafana leaves no empty rows either.
      const y = Math.min(box.y - yOf(panels[0]) + from, bottom);
      const [component, props] = componentOf(panel);
      place(
        component ?? 'text',
        props,
        free({ ...box, y }, layoutData, section),
      );
      if (component === undefined) {
        unknown.push(`${titleOf(panel) || 'Untitled'} (${typeOf(panel)})`);
      }
    }
  }
  const text = (field: 'title' | 'description', most: number) =>
    cut(textOf(fieldOf(content, field)), most);
  const description = text('description', MOCKUP_LIMITS.description);
  return {
    title: text('title', MOCKUP_LIMITS.name) || 'Dashboard',
    ...(description && { description }),
    layoutData,
    unknown,
  };
}

/** A dashboard as a mockup in a file of exported ones, with one version. */
export function toFileMockup(
  { title, description, layoutData }: Dashboard,
  createdBy: string,
): MockupFileMockup & { versions: MockupFileVersion[] } {
  const now = new Date().toISOString();
  return {
    name: title,
    ...(description && { description }),
    owner: createdBy,
    createdAt: now,
    updatedAt: now,
    versions: [
      {
        message: 'Imported from Grafana',
        layoutData,
        createdBy,
        createdAt: now,
      },
    ],
  };
}

/** Panels from row to row. A folded row has its panels within, an open one has them behind it. */
function sectionsOf(panels: Panel[]): { row?: Panel; panels: Panel[] }[] {
  const sections: { row?: Panel; panels: Panel[] }[] = [{ panels: [] }];
  const inOrder = [...panels].sort(
    (one, other) => yOf(one) - yOf(other) || rowFirst(one) - rowFirst(other),
  );
  for (const panel of inOrder) {
    if (panel.type === 'row') {
      const folded = Array.isArray(panel.panels) ? panel.panels : [];
      sections.push({
        row: panel,
        panels: folded.filter(isObject),
      });
    } else {
      sections[sections.length - 1].panels.push(panel);
    }
  }
  return sections
    .filter(({ row, panels: own }) => row || own.length > 0)
    .map(section => ({
      ...section,
      // A folded row can have panels behind it too.
      panels: section.panels.sort((one, other) => yOf(one) - yOf(other)),
    }));
}

function rowFirst({ type }: Panel): number {
  return type === 'row' ? 0 : 1;
}

function yOf({ gridPos }: Panel): number {
  return numberOf(fieldOf(gridPos, 'y'), 0, MOCKUP_LIMITS.layoutRows, 0);
}

/** Where a panel is among twelve columns: edges that were one stay one. */
function placeOf(panel: Panel): Box {
  const { gridPos } = panel;
  const x = numberOf(fieldOf(gridPos, 'x'), 0, GRAFANA_COLUMNS - 1, 0);
  const width = numberOf(fieldOf(gridPos, 'w'), 1, GRAFANA_COLUMNS, 12);
  const left = Math.min(Math.round(x / 2), GRID.cols - 1);
  const right = Math.min(Math.round((x + width) / 2), GRID.cols);
  return {
    x: left,
    y: yOf(panel),
    w: Math.max(1, right - left),
    h: numberOf(fieldOf(gridPos, 'h'), 1, TALLEST, 8),
  };
}

/** The box, or the first one below it where none of the section is yet. */
function free(box: Box, placed: readonly Box[], section: number): Box {
  const other = placed.find(
    ({ x, y, w, h }, at) =>
      at >= section &&
      box.x < x + w &&
      x < box.x + box.w &&
      box.y < y + h &&
      y < box.y + box.h,
  );
  return other ? free({ ...box, y: other.y + other.h }, placed, section) : box;
}

/** Without a name, the panel is drawn as a text that says what it is. */
type Component = [name: string | undefined, props: Props];

function componentOf(panel: Panel): Component {
  const type = typeOf(panel);
  const title = titleOf(panel);
  if (type === 'text') {
    const { options, content } = panel;
    const text = textOf(fieldOf(options, 'content')) || textOf(content);
    return ['markdown', { ...(title && { title }), text }];
  }
  if (NUMBERS.has(type)) {
    const filter = ['kind=component'];
    return ['entity-count', { label: title || 'Number', filter }];
  }
  if (TABLES.has(type)) {
    return ['table', { title, columns: ['Name', 'Value'], rows: [] }];
  }
  if (LINES.has(type) || BARS.has(type)) {
    const form = LINES.has(type) ? 'line' : 'bar';
    return ['chart', { title, type: form, data: SAMPLE }];
  }
  return [undefined, { text: `${title || 'Panel'} (${type})` }];
}

function titleOf({ title }: Panel): string {
  return textOf(title).trim();
}

function typeOf({ type }: Panel): string {
  return textOf(type) || 'no type';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function cut(text: string, most: number): string {
  return [...text.trim()].slice(0, most).join('');
}

function numberOf(
  value: unknown,
  least: number,
  most: number,
  otherwise: number,
): number {
  return typeof value === 'number' && Number.isFinite(value)
    ? Math.min(Math.max(Math.round(value), least), most)
    : otherwise;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A field of its own of a value. */
function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name)
    ? value[name]
    : undefined;
}
