export { readTenancyConfig } from './readTenancyConfig';
export type {
  TenancyConfig,
  TenancyConnection,
  TenancyPoolLimits,
} from './TenancyConfig';
