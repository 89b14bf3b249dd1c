export {
  type MockupApi,
  MockupClient,
  type MockupCreateOptions,
  type MockupRequestOptions,
  type MockupWriteOptions,
} from './MockupClient';
