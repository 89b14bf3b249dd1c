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

const ICON = { size: 20, 'aria-hidden': true } as const;
const pieces = () => import('./LivePieces');

const TITLE = { type: 'string', title: 'Title' };
const FILTER = {
  type: 'array',
  title: 'Which entities',
  description:
    'Each as field=value, such as kind=component or spec.type=service. All have to match; of several with one field, any.',
  maxItems: 20,
  items: {
    type: 'string',
    title: 'Condition',
    maxLength: 500,
    pattern: '^\\s*[^=\\s]+\\s*=.+$',
  },
};
const LIMIT = {
  type: 'integer',
  title: 'How many at most',
  minimum: 1,
  maximum: 50,
  default: 10,
};
const ENTITY_REF = {
  type: 'string',
  title: 'Entity',
  description:
    'As kind:namespace/name, or {{entity}} for the one in the address of the page',
  pattern:
    '^([^:/\\s]+:([^:/\\s]+/)?[^:/\\s]+|\\{\\{\\s*[A-Za-z][\\w-]*\\s*\\}\\})$',
};

/** What shows data of the tenant, with the rights of its reader, behind the stock pieces. */
export const liveComponents = [
  extensionOf({
    name: 'entity-table',
    title: 'Entity table',
    icon: <RiFilterLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['filter'],
      properties: {
        title: TITLE,
        filter: FILTER,
        columns: {
          type: 'array',
          title: 'Columns beside the name',
          uniqueItems: true,
          items: {
            type: 'string',
            title: 'Column',
            enum: ['kind', 'type', 'lifecycle', 'owner', 'description'],
          },
        },
        limit: LIMIT,
      },
    },
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
    schema: {
      type: 'object',
      required: ['filter'],
      properties: { title: TITLE, filter: FILTER, limit: LIMIT },
    },
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
    schema: {
      type: 'object',
      required: ['entityRef'],
      properties: { entityRef: ENTITY_REF },
    },
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
    schema: {
      type: 'object',
      required: ['label', 'filter'],
      properties: {
        label: { type: 'string', title: 'Label' },
        filter: FILTER,
      },
    },
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
    schema: {
      type: 'object',
      required: ['filter', 'field'],
      properties: {
        title: TITLE,
        filter: FILTER,
        field: {
          type: 'string',
          title: 'Counted by',
          description: 'A field of entities, such as spec.type',
          minLength: 1,
          maxLength: 200,
        },
      },
    },
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
    schema: {
      type: 'object',
      properties: {
        title: TITLE,
        text: {
          type: 'string',
          title: 'Text',
          contentMediaType: 'text/plain',
        },
        entityRef: {
          ...ENTITY_REF,
          description: 'Instead of a text, as kind:namespace/name',
        },
        annotation: {
          type: 'string',
          title: 'Annotation of the entity',
          description:
            'Its value is the text; without one, the description is.',
        },
      },
    },
    defaultProps: {
      text: '## Welcome\n\nWrite **Markdown** here.',
    } as MarkdownProps,
    defaultSize: { w: 6, h: 6 },
    data: {
      async query({ text = '', entityRef, annotation }, sources) {
        if (!entityRef) {
          return text;
        }
        const metadata = (await sources.entity(entityRef))?.metadata;
        return (
          (annotation
            ? metadata?.annotations?.[annotation]
            : metadata?.description) ?? ''
        );
      },
      isEmpty: text => text.trim() === '',
    },
    loader: async () => (await pieces()).MarkdownPiece,
  }),
  extensionOf({
    name: 'search-results',
    title: 'Search results',
    icon: <RiSearchLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['term'],
      properties: {
        title: TITLE,
        term: { type: 'string', title: 'What to search', minLength: 1 },
        limit: LIMIT,
      },
    },
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
    schema: { type: 'object', properties: { title: TITLE } },
    defaultProps: { title: 'Your starred entities' } as StarredProps,
    defaultSize: { w: 4, h: 6 },
    loader: async () => (await pieces()).StarredPiece,
  }),
  extensionOf({
    name: 'notifications',
    title: 'Notifications',
    icon: <RiNotification3Line {...ICON} />,
    schema: { type: 'object', properties: { title: TITLE, limit: LIMIT } },
    defaultProps: { title: 'Not read yet', limit: 5 } as FoundLinksProps,
    defaultSize: { w: 4, h: 6 },
    data: { query: unreadNotifications, isEmpty: found => found.length === 0 },
    loader: async () => (await pieces()).FoundLinksPiece,
  }),
  extensionOf({
    name: 'frame',
    title: 'Frame',
    icon: <RiWindowLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['src', 'title'],
      properties: {
        src: {
          type: 'string',
          title: 'Address',
          description: 'With https, of a host that the portal allows.',
        },
        title: {
          type: 'string',
          title: 'What it shows',
          description: 'For those who do not see it.',
          minLength: 1,
        },
      },
    },
    defaultProps: { src: 'https://', title: 'Frame' } as FrameProps,
    defaultSize: { w: 6, h: 10 },
    loader: async () => (await pieces()).FramePiece,
  }),
];
