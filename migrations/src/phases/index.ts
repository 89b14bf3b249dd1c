import type { Phase } from '../engine/Step';
import { phase1 } from './phase1_tenant_column';
import { phase2 } from './phase2_backfill';

/** The phases of the specification, in their order. */
export const phases: Phase[] = [phase1, phase2];
