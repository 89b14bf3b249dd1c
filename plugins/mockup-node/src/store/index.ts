export type {
  ListMockupsOptions,
  MockupCondition,
  MockupFilter,
  MockupStore,
  MockupWriteCondition,
} from './MockupStore';
export { mockupStoreServiceRef } from './mockupStoreServiceRef';
export { PreconditionFailedError } from './PreconditionFailedError';
