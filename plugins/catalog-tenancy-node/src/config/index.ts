export { readTenancyConfig } from './readTenancyConfig';
export type {
  ReplicaConfig,
  TenancyConfig,
  TenancyConnection,
  TenancyPoolLimits,
} from './TenancyConfig';
