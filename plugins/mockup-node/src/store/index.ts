export type {
  ImportedPart,
  ListMockupsOptions,
  ListVersionsOptions,
  MockupCondition,
  MockupFilter,
  MockupStore,
  MockupStores,
  MockupWriteCondition,
} from './MockupStore';
export { mockupStoreServiceRef } from './mockupStoreServiceRef';
export { PreconditionFailedError } from './PreconditionFailedError';
