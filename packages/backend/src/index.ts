import { createPortal, startPortal } from './createPortal';
import { startMetrics } from './metrics';

startMetrics();
startPortal(createPortal());
