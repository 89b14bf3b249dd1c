// What `npm start` runs as the backend: that of production, and a second tenant.

import { createPortal, startPortal } from '../src/createPortal';
import { sampleTenant } from './sampleTenant/sampleTenant';

const portal = createPortal();
portal.add(sampleTenant);
startPortal(portal);
