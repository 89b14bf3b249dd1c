export { assertPreflight, runPreflight } from './runPreflight';
export type { PreflightReport } from './runPreflight';
export type { PreflightOptions } from './PreflightCheck';
export type { Finding, FindingLevel } from './Finding';
export { repairStatements } from './checks/entityRefs';
