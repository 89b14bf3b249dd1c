export type {
  ImportedPart,
  ListMockupsOptions,
  ListVersionsOptions,
  ListTrashOptions,
  MockupCondition,
  MockupFilter,
  MockupReadOptions,
  MockupStore,
  MockupStores,
  MockupWriteCondition,
} from './MockupStore';
export { mockupStoreServiceRef } from './mockupStoreServiceRef';
export { PreconditionFailedError } from './PreconditionFailedError';
