export { readNext, refuseWithoutTables } from './next';
export { readStatus } from './readStatus';
export type {
  Leftover,
  StatusReport,
  StepStatus,
  SwapStatus,
  TableStatus,
  WorkStatus,
} from './StatusReport';
export type { UnfinishedMove } from '../partitions/leftovers';
