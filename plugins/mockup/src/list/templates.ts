import type { LayoutItem } from 'backstage-plugin-mockup-common';

type Piece = [
  component: string,
  place: [x: number, y: number, w: number, h: number],
  props: Record<string, unknown>,
];

/** The items are called by their place in the list: what is made of them has no names yet. */
function layoutOf(...pieces: Piece[]): LayoutItem[] {
  return pieces.map(([component, [x, y, w, h], props], at) => ({
    ...{ i: `${component}-${at + 1}`, x, y, w, h, component, props },
  }));
}

const COLUMNS = ['type', 'lifecycle', 'owner'];

/** Layouts to begin with. `{{team}}` and `{{entity}}` come from the address of the page. */
export const TEMPLATES = {
  start: layoutOf(
    ['header', [0, 0, 12, 2], { title: 'Welcome', level: 2 }],
    [
      'markdown',
      [0, 2, 8, 6],
      { text: 'What we build, whom to ask, and **where to begin**.' },
    ],
    ['starred-entities', [8, 2, 4, 6], { title: 'Your starred entities' }],
    ['entity-count', [0, 8, 4, 3], count('Components', 'kind=component')],
    ['entity-count', [4, 8, 4, 3], count('APIs', 'kind=api')],
    ['entity-count', [8, 8, 4, 3], count('Teams', 'kind=group')],
    [
      'entity-table',
      [0, 11, 8, 9],
      { title: 'Components', filter: ['kind=component'], columns: COLUMNS },
    ],
    ['notifications', [8, 11, 4, 9], { title: 'Not read yet', limit: 5 }],
  ),
  team: layoutOf(
    ['entity-fields', [0, 0, 4, 7], { entityRef: '{{team}}' }],
    ['markdown', [4, 0, 8, 7], { text: 'How to reach us, and when.' }],
    ['entity-count', [0, 7, 3, 3], ours('Components', 'kind=component')],
    ['entity-count', [0, 10, 3, 3], ours('APIs', 'kind=api')],
    [
      'entity-table',
      [3, 7, 9, 9],
      {
        title: 'What we own',
        filter: ['relations.ownedBy={{team}}'],
        columns: ['kind', 'type', 'lifecycle'],
        limit: 20,
      },
    ],
  ),
  scorecard: layoutOf(
    ['entity-fields', [0, 0, 6, 8], { entityRef: '{{entity}}' }],
    [
      'markdown',
      [6, 0, 6, 8],
      { title: 'About', entityRef: '{{entity}}', text: '' },
    ],
    [
      'entity-table',
      [0, 8, 6, 8],
      {
        title: 'Its APIs',
        filter: ['kind=api', 'relations.apiProvidedBy={{entity}}'],
        columns: COLUMNS,
      },
    ],
    [
      'entity-table',
      [6, 8, 6, 8],
      {
        title: 'What it depends on',
        filter: ['relations.dependencyOf={{entity}}'],
        columns: ['kind', 'owner'],
      },
    ],
  ),
  goldenPaths: layoutOf(
    [
      'header',
      [0, 0, 12, 2],
      { title: 'Golden paths', subtitle: 'How we build here', level: 2 },
    ],
    [
      'entity-cards',
      [0, 2, 12, 8],
      { title: 'Begin with a template', filter: ['kind=template'], limit: 12 },
    ],
    ['search-results', [0, 10, 6, 8], { title: 'Guides', term: 'guide' }],
    [
      'entity-chart',
      [6, 10, 6, 8],
      { title: 'What we run', filter: ['kind=component'], field: 'spec.type' },
    ],
  ),
} satisfies Record<string, LayoutItem[]>;

/** What a mockup begins with. */
export type TemplateName = keyof typeof TEMPLATES;

function count(label: string, ...filter: string[]) {
  return { label, filter };
}

function ours(label: string, kind: string) {
  return count(label, kind, 'relations.ownedBy={{team}}');
}
