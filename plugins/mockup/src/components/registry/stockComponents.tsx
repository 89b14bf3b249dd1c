import {
  RiBarChart2Line,
  RiBox3Line,
  RiCursorLine,
  RiFileTextLine,
  RiHeading,
  RiImageLine,
  RiLinksLine,
  RiTableLine,
} from '@remixicon/react';
import { extensionOf } from './MockupComponentBlueprint';
import { choice, ICON, LABEL, list, object, text, TITLE } from './schemas';
import type {
  ButtonProps,
  ChartProps,
  EntityCardProps,
  HeaderProps,
  ImageProps,
  LinkListProps,
  TableProps,
  TextProps,
} from './StockPieces';

const pieces = () => import('./StockPieces');

/** The usual pieces of a portal page, in the order of the palette. */
export const stockComponents = [
  extensionOf<HeaderProps>({
    name: 'header',
    title: 'Header',
    icon: <RiHeading {...ICON} />,
    schema: object(
      {
        title: TITLE,
        subtitle: text('Subtitle'),
        level: { type: 'integer', title: 'Level', enum: [2, 3, 4], default: 2 },
      },
      'title',
    ),
    defaultProps: { title: 'Header', level: 2 },
    defaultSize: { w: 12, h: 2 },
    loader: async () => (await pieces()).HeaderPiece,
  }),
  extensionOf<TextProps>({
    name: 'text',
    title: 'Text',
    icon: <RiFileTextLine {...ICON} />,
    schema: object(
      {
        text: text('Text', {
          description: 'An empty line begins a paragraph.',
          contentMediaType: 'text/plain',
        }),
        align: choice('Alignment', 'left', 'center', 'right'),
      },
      'text',
    ),
    defaultProps: { text: 'Text of the page.' },
    defaultSize: { w: 6, h: 3 },
    loader: async () => (await pieces()).TextPiece,
  }),
  extensionOf<ImageProps>({
    name: 'image',
    title: 'Image',
    icon: <RiImageLine {...ICON} />,
    schema: object({
      src: text('Address', {
        description:
          'An address with http or https, or one of this portal. Without one, the place of the image is drawn.',
      }),
      alt: text('Alternative text', {
        description: 'What the image shows, for those who do not see it.',
      }),
      fit: choice('Fit', 'contain', 'cover'),
    }),
    defaultProps: { alt: '' },
    defaultSize: { w: 4, h: 5 },
    loader: async () => (await pieces()).ImagePiece,
  }),
  extensionOf<ButtonProps>({
    name: 'button',
    title: 'Button',
    icon: <RiCursorLine {...ICON} />,
    schema: object(
      {
        label: LABEL,
        variant: choice('Variant', 'primary', 'secondary', 'tertiary'),
        href: text('Opens', {
          description: 'An address with http or https, or a path.',
        }),
      },
      'label',
    ),
    defaultProps: { label: 'Button', variant: 'primary' },
    defaultSize: { w: 3, h: 1 },
    loader: async () => (await pieces()).ButtonPiece,
  }),
  extensionOf<TableProps>({
    name: 'table',
    title: 'Table',
    icon: <RiTableLine {...ICON} />,
    schema: object(
      {
        title: TITLE,
        columns: list('Columns', 20, text('Column')),
        rows: list(
          'Rows',
          100,
          list('Row', 20, {
            title: 'Cell',
            type: ['string', 'number', 'boolean', 'null'],
          }),
        ),
      },
      'columns',
      'rows',
    ),
    defaultProps: {
      title: 'Table',
      columns: ['Name', 'Owner', 'State'],
      rows: [
        ['website', 'team-a', 'healthy'],
        ['payments', 'team-b', 'degraded'],
      ],
    },
    defaultSize: { w: 6, h: 5 },
    loader: async () => (await pieces()).TablePiece,
  }),
  extensionOf<ChartProps>({
    name: 'chart',
    title: 'Chart',
    icon: <RiBarChart2Line {...ICON} />,
    schema: object(
      {
        title: TITLE,
        type: choice('Form', 'bar', 'line'),
        data: list('Values', 60, {
          title: 'Value',
          ...object(
            { label: LABEL, value: { type: 'number', title: 'Value' } },
            'label',
            'value',
          ),
        }),
      },
      'data',
    ),
    defaultProps: {
      title: 'Deployments',
      type: 'bar',
      data: [
        { label: 'Mon', value: 3 },
        { label: 'Tue', value: 7 },
        { label: 'Wed', value: 5 },
        { label: 'Thu', value: 9 },
        { label: 'Fri', value: 4 },
      ],
    },
    defaultSize: { w: 6, h: 6 },
    loader: async () => (await pieces()).ChartPiece,
  }),
  extensionOf<EntityCardProps>({
    name: 'entity-card',
    title: 'Entity card',
    icon: <RiBox3Line {...ICON} />,
    schema: object(
      {
        entityRef: text('Entity', {
          description: 'As kind:namespace/name',
          pattern: '^[^:/\\s]+:([^:/\\s]+/)?[^:/\\s]+$',
        }),
        description: text('Description'),
      },
      'entityRef',
    ),
    defaultProps: { entityRef: 'component:default/example' },
    defaultSize: { w: 4, h: 3 },
    loader: async () => (await pieces()).EntityCardPiece,
  }),
  extensionOf<LinkListProps>({
    name: 'link-list',
    title: 'Link list',
    icon: <RiLinksLine {...ICON} />,
    schema: object(
      {
        title: TITLE,
        links: list('Links', 50, {
          title: 'Link',
          ...object(
            {
              label: LABEL,
              href: text('Address', {
                description: 'With http, https or mailto, or a path.',
              }),
            },
            'label',
            'href',
          ),
        }),
      },
      'links',
    ),
    defaultProps: {
      title: 'Links',
      links: [
        { label: 'Home', href: '/' },
        { label: 'Backstage', href: 'https://backstage.io' },
      ],
    },
    defaultSize: { w: 3, h: 4 },
    loader: async () => (await pieces()).LinkListPiece,
  }),
];
