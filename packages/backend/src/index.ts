import { createPortal, startPortal } from './createPortal';

startPortal(createPortal());
