import { Text } from '@backstage/ui';
import type { RJSFSchema } from '@rjsf/utils';
import { memo } from 'react';

/** A component of the palette. */
export interface MockupComponent {
  name: string;
  title: string;
  icon?: JSX.Element;
  schema: RJSFSchema;
  defaultProps: Record<string, unknown>;
  defaultSize: { w: number; h: number };
}

const TEXT: MockupComponent[] = ['header', 'text', 'button'].map(name => ({
  name,
  title: name[0].toUpperCase() + name.slice(1),
  schema: {
    type: 'object',
    properties: {
      text: { type: 'string', title: 'Text' },
      level: { type: 'integer', title: 'Level', minimum: 1, maximum: 6 },
      kind: { type: 'string', title: 'Kind', enum: ['primary', 'secondary'] },
      isWide: { type: 'boolean', title: 'Wide' },
      links: {
        type: 'array',
        title: 'Links',
        items: {
          type: 'object',
          properties: {
            title: { type: 'string', title: 'Title' },
            url: { type: 'string', title: 'URL' },
          },
        },
      },
    },
    required: ['text'],
  },
  defaultProps: { text: `A ${name}` },
  defaultSize: { w: 4, h: 2 },
}));

export function useMockupComponents(): readonly MockupComponent[] {
  return TEXT;
}

export const Piece = memo(function Piece(props: {
  component: string;
  props: Record<string, unknown>;
}) {
  return <Text>{String(props.props.text ?? props.component)}</Text>;
});
