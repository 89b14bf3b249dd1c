import { RiNodeTree } from '@remixicon/react';
import { MockupComponentBlueprint } from 'backstage-plugin-mockup';
import type { RelationsProps } from './Relations';

/**
 * A component of mockups and pages that takes a plugin of this app. Others of yours are made in the
 * same way.
 */
export const relationsComponent = MockupComponentBlueprint.make({
  name: 'entity-relations',
  params: define =>
    define<RelationsProps>({
      name: 'entity-relations',
      title: 'Relations',
      icon: <RiNodeTree size={20} aria-hidden />,
      schema: {
        type: 'object',
        required: ['entityRef'],
        properties: {
          entityRef: {
            type: 'string',
            title: 'Entity',
            description:
              'As kind:namespace/name, or {{entity}} for the one in the address of the page',
            pattern:
              '^([^:/\\s]+:([^:/\\s]+/)?[^:/\\s]+|\\{\\{\\s*[A-Za-z][\\w-]*\\s*\\}\\})$',
          },
          depth: {
            type: 'integer',
            title: 'How far',
            minimum: 1,
            maximum: 3,
            default: 1,
          },
        },
      },
      defaultProps: { entityRef: 'component:default/example', depth: 1 },
      defaultSize: { w: 6, h: 9 },
      data: {
        query: ({ entityRef }, { entity }) => entity(entityRef),
        isEmpty: entity => !entity,
      },
      loader: async () => (await import('./Relations')).Relations,
    }),
});
