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

const ICON = { size: 20, 'aria-hidden': true } as const;
const pieces = () => import('./StockPieces');

/** The usual pieces of a portal page, in the order of the palette. */
export const stockComponents = [
  extensionOf<HeaderProps>({
    name: 'header',
    title: 'Header',
    icon: <RiHeading {...ICON} />,
    schema: {
      type: 'object',
      required: ['title'],
      properties: {
        title: { type: 'string', title: 'Title' },
        subtitle: { type: 'string', title: 'Subtitle' },
        level: {
          type: 'integer',
          title: 'Level',
          enum: [2, 3, 4],
          default: 2,
        },
      },
    },
    defaultProps: { title: 'Header', level: 2 },
    defaultSize: { w: 12, h: 2 },
    loader: async () => (await pieces()).HeaderPiece,
  }),
  extensionOf<TextProps>({
    name: 'text',
    title: 'Text',
    icon: <RiFileTextLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['text'],
      properties: {
        text: {
          type: 'string',
          title: 'Text',
          description: 'An empty line begins a paragraph.',
          contentMediaType: 'text/plain',
        },
        align: {
          type: 'string',
          title: 'Alignment',
          enum: ['left', 'center', 'right'],
          default: 'left',
        },
      },
    },
    defaultProps: { text: 'Text of the page.' },
    defaultSize: { w: 6, h: 3 },
    loader: async () => (await pieces()).TextPiece,
  }),
  extensionOf<ImageProps>({
    name: 'image',
    title: 'Image',
    icon: <RiImageLine {...ICON} />,
    schema: {
      type: 'object',
      properties: {
        src: {
          type: 'string',
          title: 'Address',
          description:
            'An address with http or https, or one of this portal. Without one, the place of the image is drawn.',
        },
        alt: {
          type: 'string',
          title: 'Alternative text',
          description: 'What the image shows, for those who do not see it.',
        },
        fit: {
          type: 'string',
          title: 'Fit',
          enum: ['contain', 'cover'],
          default: 'contain',
        },
      },
    },
    defaultProps: { alt: '' },
    defaultSize: { w: 4, h: 5 },
    loader: async () => (await pieces()).ImagePiece,
  }),
  extensionOf<ButtonProps>({
    name: 'button',
    title: 'Button',
    icon: <RiCursorLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['label'],
      properties: {
        label: { type: 'string', title: 'Label' },
        variant: {
          type: 'string',
          title: 'Variant',
          enum: ['primary', 'secondary', 'tertiary'],
          default: 'primary',
        },
        href: {
          type: 'string',
          title: 'Opens',
          description: 'An address with http or https, or a path.',
        },
      },
    },
    defaultProps: { label: 'Button', variant: 'primary' },
    defaultSize: { w: 3, h: 1 },
    loader: async () => (await pieces()).ButtonPiece,
  }),
  extensionOf<TableProps>({
    name: 'table',
    title: 'Table',
    icon: <RiTableLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['columns', 'rows'],
      properties: {
        title: { type: 'string', title: 'Title' },
        columns: {
          type: 'array',
          title: 'Columns',
          maxItems: 20,
          items: { type: 'string', title: 'Column' },
        },
        rows: {
          type: 'array',
          title: 'Rows',
          maxItems: 100,
          items: {
            type: 'array',
            title: 'Row',
            maxItems: 20,
            items: {
              title: 'Cell',
              type: ['string', 'number', 'boolean', 'null'],
            },
          },
        },
      },
    },
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
    schema: {
      type: 'object',
      required: ['data'],
      properties: {
        title: { type: 'string', title: 'Title' },
        type: {
          type: 'string',
          title: 'Form',
          enum: ['bar', 'line'],
          default: 'bar',
        },
        data: {
          type: 'array',
          title: 'Values',
          maxItems: 60,
          items: {
            type: 'object',
            title: 'Value',
            required: ['label', 'value'],
            properties: {
              label: { type: 'string', title: 'Label' },
              value: { type: 'number', title: 'Value' },
            },
          },
        },
      },
    },
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
    schema: {
      type: 'object',
      required: ['entityRef'],
      properties: {
        entityRef: {
          type: 'string',
          title: 'Entity',
          description: 'As kind:namespace/name',
          pattern: '^[^:/\\s]+:([^:/\\s]+/)?[^:/\\s]+$',
        },
        description: { type: 'string', title: 'Description' },
      },
    },
    defaultProps: { entityRef: 'component:default/example' },
    defaultSize: { w: 4, h: 3 },
    loader: async () => (await pieces()).EntityCardPiece,
  }),
  extensionOf<LinkListProps>({
    name: 'link-list',
    title: 'Link list',
    icon: <RiLinksLine {...ICON} />,
    schema: {
      type: 'object',
      required: ['links'],
      properties: {
        title: { type: 'string', title: 'Title' },
        links: {
          type: 'array',
          title: 'Links',
          maxItems: 50,
          items: {
            type: 'object',
            title: 'Link',
            required: ['label', 'href'],
            properties: {
              label: { type: 'string', title: 'Label' },
              href: {
                type: 'string',
                title: 'Address',
                description: 'With http, https or mailto, or a path.',
              },
            },
          },
        },
      },
    },
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
