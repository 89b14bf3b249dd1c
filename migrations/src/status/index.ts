export { readStatus } from './readStatus';
export { renderStatus } from './renderStatus';
export type {
  Leftover,
  StatusReport,
  StepStatus,
  SwapStatus,
  TableStatus,
  WorkStatus,
} from './StatusReport';
