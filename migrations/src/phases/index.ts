import type { Phase } from '../engine/Step';
import { phase1 } from './phase1_tenant_column';
import { phase2 } from './phase2_backfill';
import { phase3 } from './phase3_application';
import { phase4 } from './phase4_row_level_security';
import { phase5 } from './phase5_partitions';
import { phase6 } from './phase6_cutover';

/** The phases of the specification, in their order. */
export const phases: Phase[] = [phase1, phase2, phase3, phase4, phase5, phase6];
