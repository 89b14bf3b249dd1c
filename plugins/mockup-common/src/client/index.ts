export {
  type MockupApi,
  MockupClient,
  type MockupRequestOptions,
  type MockupWriteOptions,
} from './MockupClient';
