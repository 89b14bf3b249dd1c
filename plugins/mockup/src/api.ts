import { createApiRef } from '@backstage/frontend-plugin-api';
import type { MockupApi } from 'backstage-plugin-mockup-common';

/**
 * The mockups, at `/api/mockup`.
 *
 * @public
 */
export const mockupApiRef = createApiRef<MockupApi>({
  id: 'plugin.mockup.service',
});

/** How often a change is sent, where each 412 leaves nothing for the user to choose. */
export const MOST_TRIES = 5;
