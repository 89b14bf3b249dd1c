export type {
  MockupApi,
  MockupRequestOptions,
  MockupWriteOptions,
  Page,
} from './MockupApi';
export { MockupClient } from './MockupClient';
