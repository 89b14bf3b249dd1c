export {
  AdminAccessError,
  DatabaseStatementError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from './errors';
export { retryAfter } from './retryAfter';
export {
  TenancyPool,
  type BuildStatement,
  type PoolTransaction,
  type QuerySettings,
  type TenancyPoolOptions,
  type TransactionSettings,
} from './TenancyPool';
