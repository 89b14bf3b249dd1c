export {
  jsonPatchOperationSchema,
  versionDifferenceSchema,
} from './difference';
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
export {
  compareVersionsQuerySchema,
  listMockupsQuerySchema,
  paginationSchema,
} from './query';
