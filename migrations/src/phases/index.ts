import type { Phase } from '../engine/Step';
import { phase1 } from './phase1_tenant_column';

/** The phases of the specification, in their order. */
export const phases: Phase[] = [phase1];
