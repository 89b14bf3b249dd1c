export {
  jsonPatchOperationSchema,
  versionDifferenceSchema,
} from './difference';
export { mockupFileMockupSchema, mockupFileVersionSchema } from './file';
export {
  layoutItemInputSchema,
  layoutItemSchema,
  layoutSchema,
} from './layout';
export {
  createMockupRequestSchema,
  duplicateMockupRequestSchema,
  groupRefSchema,
  mockupSchema,
  mockupWithLatestVersionSchema,
  restoreVersionRequestSchema,
  saveVersionRequestSchema,
  shareMockupRequestSchema,
  trashedMockupSchema,
  updateMockupRequestSchema,
  updateVersionRequestSchema,
  versionSchema,
} from './mockup';
export {
  pagePathSchema,
  publishedPageSchema,
  publishedPageWithLayoutSchema,
  publishPageRequestSchema,
} from './page';
export {
  createCommentRequestSchema,
  mockupCommentSchema,
  mockupReviewSchema,
  mockupSettingsSchema,
  readyVersionSchema,
  updateCommentRequestSchema,
} from './review';
export {
  compareVersionsQuerySchema,
  listMockupsQuerySchema,
  listTrashQuerySchema,
  paginationSchema,
} from './query';
