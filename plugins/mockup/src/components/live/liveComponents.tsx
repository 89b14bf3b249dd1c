import {
  RiBarChart2Line,
  RiBox3Line,
  RiFilterLine,
  RiHashtag,
  RiLayoutGridLine,
  RiMarkdownLine,
  RiNotification3Line,
  RiSearchLine,
  RiStarLine,
  RiWindowLine,
} from '@remixicon/react';
import { extensionOf } from '../registry/MockupComponentBlueprint';
import { ICON, LABEL, list, object, text, TITLE } from '../registry/schemas';
import type {
  EntityChartProps,
  EntityCountProps,
  EntityFieldsProps,
  EntityListProps,
  EntityTableProps,
  FoundLinksProps,
  FrameProps,
  MarkdownProps,
  SearchResultsProps,
  StarredProps,
} from './LivePieces';
import {
  countByField,
  countEntities,
  findEntities,
  search,
  unreadNotifications,
} from './queries';

const pieces = () => import('./LivePieces');

const FILTER = {
  ...list(
    'Which entities',
    20,
    text('Condition', { maxLength: 500, pattern: '^\\s*[^=\\s]+\\s*=.+$' }),
  ),
  description:
    'Each as field=value, such as kind=component or spec.type=service. All have to match; of several with one field, any.',
};
const LIMIT = {
  type: 'integer',
  title: 'How many at most',
  minimum: 1,
  maximum: 50,
  default: 10,
};
const ENTITY_REF = text('Entity', {
  description:
    'As kind:namespace/name, or {{entity}} for the one in the address of the page',
  pattern:
    '^([^:/\\s]+:([^:/\\s]+/)?[^:/\\s]+|\\{\\{\\s*[A-Za-z][\\w-]*\\s*\\}\\})$',
});

/** What shows data of the tenant, with the rights of its reader, behind the stock pieces. */
export const liveComponents = [
  extensionOf({
    name: 'entity-table',
    title: 'Entity table',
    icon: <RiFilterLine {...ICON} />,
    schema: object(
      {
        title: TITLE,
        filter: FILTER,
        columns: {
          type: 'array',
          title: 'Columns beside the name',
          uniqueItems: true,
          items: text('Column', {
            enum: ['kind', 'type', 'lifecycle', 'owner', 'description'],
          }),
        },
        limit: LIMIT,
      },
      'filter',
    ),
    defaultProps: {
      title: 'Components',
      filter: ['kind=component'],
      columns: ['type', 'owner'],
      limit: 10,
    } as EntityTableProps,
    defaultSize: { w: 6, h: 9 },
    data: { query: findEntities, isEmpty: ({ items }) => items.length === 0 },
    loader: async () => (await pieces()).EntityTablePiece,
  }),
  extensionOf({
    name: 'entity-cards',
    title: 'Entity cards',
    icon: <RiLayoutGridLine {...ICON} />,
    schema: object({ title: TITLE, filter: FILTER, limit: LIMIT }, 'filter'),
    defaultProps: {
      title: 'Services',
      filter: ['kind=component', 'spec.type=service'],
      limit: 6,
    } as EntityListProps,
    defaultSize: { w: 12, h: 7 },
    data: { query: findEntities, isEmpty: ({ items }) => items.length === 0 },
    loader: async () => (await pieces()).EntityCardsPiece,
  }),
  extensionOf({
    name: 'entity-fields',
    title: 'Entity',
    icon: <RiBox3Line {...ICON} />,
    schema: object({ entityRef: ENTITY_REF }, 'entityRef'),
    defaultProps: {
      entityRef: 'component:default/example',
    } as EntityFieldsProps,
    defaultSize: { w: 4, h: 7 },
    data: {
      async query({ entityRef }, sources) {
        return (await sources.entity(entityRef))!;
      },
      isEmpty: entity => !entity,
    },
    loader: async () => (await pieces()).EntityFieldsPiece,
  }),
  extensionOf({
    name: 'entity-count',
    title: 'Number of entities',
    icon: <RiHashtag {...ICON} />,
    schema: object({ label: LABEL, filter: FILTER }, 'label', 'filter'),
    defaultProps: {
      label: 'Components',
      filter: ['kind=component'],
    } as EntityCountProps,
    defaultSize: { w: 3, h: 3 },
    data: { query: countEntities },
    loader: async () => (await pieces()).EntityCountPiece,
  }),
  extensionOf({
    name: 'entity-chart',
    title: 'Chart of entities',
    icon: <RiBarChart2Line {...ICON} />,
    schema: object(
      {
        title: TITLE,
        filter: FILTER,
        field: text('Counted by', {
          description: 'A field of entities, such as spec.type',
          minLength: 1,
          maxLength: 200,
        }),
      },
      'filter',
      'field',
    ),
    defaultProps: {
      title: 'Components by type',
      filter: ['kind=component'],
      field: 'spec.type',
    } as EntityChartProps,
    defaultSize: { w: 6, h: 6 },
    data: { query: countByField, isEmpty: values => values.length === 0 },
    loader: async () => (await pieces()).EntityChartPiece,
  }),
  extensionOf({
    name: 'markdown',
    title: 'Markdown',
    icon: <RiMarkdownLine {...ICON} />,
    schema: object({
      title: TITLE,
      text: text('Text', { contentMediaType: 'text/plain' }),
      entityRef: {
        ...ENTITY_REF,
        description: 'Instead of a text, as kind:namespace/name',
      },
      annotation: text('Annotation of the entity', {
        description: 'Its value is the text; without one, the description is.',
      }),
    }),
    defaultProps: {
      text: '## Welcome\n\nWrite **Markdown** here.',
    } as MarkdownProps,
    defaultSize: { w: 6, h: 6 },
    data: {
      async query({ entityRef, annotation, ...props }, sources) {
        if (!entityRef) {
          return props.text ?? '';
        }
        const metadata = (await sources.entity(entityRef))?.metadata;
        return (
          (annotation
            ? metadata?.annotations?.[annotation]
            : metadata?.description) ?? ''
        );
      },
      isEmpty: found => found.trim() === '',
    },
    loader: async () => (await pieces()).MarkdownPiece,
  }),
  extensionOf({
    name: 'search-results',
    title: 'Search results',
    icon: <RiSearchLine {...ICON} />,
    schema: object(
      {
        title: TITLE,
        term: text('What to search', { minLength: 1 }),
        limit: LIMIT,
      },
      'term',
    ),
    defaultProps: {
      title: 'Found',
      term: 'guide',
      limit: 10,
    } as SearchResultsProps,
    defaultSize: { w: 4, h: 8 },
    data: { query: search, isEmpty: found => found.length === 0 },
    loader: async () => (await pieces()).FoundLinksPiece,
  }),
  extensionOf({
    name: 'starred-entities',
    title: 'Starred entities',
    icon: <RiStarLine {...ICON} />,
    schema: object({ title: TITLE }),
    defaultProps: { title: 'Your starred entities' } as StarredProps,
    defaultSize: { w: 4, h: 6 },
    loader: async () => (await pieces()).StarredPiece,
  }),
  extensionOf({
    name: 'notifications',
    title: 'Notifications',
    icon: <RiNotification3Line {...ICON} />,
    schema: object({ title: TITLE, limit: LIMIT }),
    defaultProps: { title: 'Not read yet', limit: 5 } as FoundLinksProps,
    defaultSize: { w: 4, h: 6 },
    data: { query: unreadNotifications, isEmpty: found => found.length === 0 },
    loader: async () => (await pieces()).FoundLinksPiece,
  }),
  extensionOf({
    name: 'frame',
    title: 'Frame',
    icon: <RiWindowLine {...ICON} />,
    schema: object(
      {
        src: text('Address', {
          description: 'With https, of a host that the portal allows.',
        }),
        title: text('What it shows', {
          description: 'For those who do not see it.',
          minLength: 1,
        }),
      },
      'src',
      'title',
    ),
    defaultProps: { src: 'https://', title: 'Frame' } as FrameProps,
    defaultSize: { w: 6, h: 10 },
    loader: async () => (await pieces()).FramePiece,
  }),
];
