export {
  layoutItemInputSchema,
  layoutItemSchema,
  layoutSchema,
} from './layout';
export {
  createMockupRequestSchema,
  mockupSchema,
  mockupWithLatestVersionSchema,
  saveVersionRequestSchema,
  updateMockupRequestSchema,
  versionSchema,
} from './mockup';
export { listMockupsQuerySchema, paginationSchema } from './query';
