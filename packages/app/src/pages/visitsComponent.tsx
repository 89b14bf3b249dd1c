import { RiHistoryLine } from '@remixicon/react';
import { MockupComponentBlueprint } from 'backstage-plugin-mockup';
import type { RecentVisit, VisitsProps } from './Visits';

/** The pages of the portal that the user was at last, as the home plugin keeps them. */
export const visitsComponent = MockupComponentBlueprint.make({
  name: 'recently-visited',
  params: define =>
    define<VisitsProps, RecentVisit[]>({
      name: 'recently-visited',
      title: 'Recently visited',
      icon: <RiHistoryLine size={20} aria-hidden />,
      schema: {
        type: 'object',
        properties: {
          title: { type: 'string', title: 'Title' },
          limit: {
            type: 'integer',
            title: 'How many at most',
            minimum: 1,
            maximum: 50,
            default: 10,
          },
        },
      },
      defaultProps: { title: 'Recently visited', limit: 8 },
      defaultSize: { w: 4, h: 6 },
      data: {
        async query({ limit = 10 }, { apis }) {
          const { visitsApiRef } = await import('@backstage/plugin-home');
          const visits = await apis.get(visitsApiRef)?.list({
            limit,
            orderBy: [{ field: 'timestamp', direction: 'desc' }],
          });
          return visits ?? [];
        },
        isEmpty: visits => visits.length === 0,
      },
      loader: async () => (await import('./Visits')).Visits,
    }),
});
