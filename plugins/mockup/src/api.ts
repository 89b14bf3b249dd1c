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
