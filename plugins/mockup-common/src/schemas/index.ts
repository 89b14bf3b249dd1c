export {
  layoutItemInputSchema,
  layoutItemSchema,
  layoutSchema,
  type LayoutItem,
} from './layout';
export {
  createMockupRequestSchema,
  mockupSchema,
  mockupWithLatestVersionSchema,
  saveVersionRequestSchema,
  updateMockupRequestSchema,
  versionSchema,
  type CreateMockupRequest,
  type Mockup,
  type MockupWithLatestVersion,
  type SaveVersionRequest,
  type UpdateMockupRequest,
  type Version,
} from './mockup';
export {
  listMockupsQuerySchema,
  paginationSchema,
  type ListMockupsQuery,
  type Pagination,
} from './query';
