export type {
  MockupApi,
  MockupRequestOptions,
  MockupWriteOptions,
} from './MockupApi';
export { MockupClient } from './MockupClient';
