import { createRouteRef } from '@backstage/frontend-plugin-api';

/** The administration of tenants. */
export const rootRouteRef = createRouteRef();
