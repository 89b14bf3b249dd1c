export * from './difference';
export * from './file';
export { layoutSchema } from './layout';
export {
  type LayoutItem,
  layoutItemInputSchema,
  layoutItemSchema,
  type ResizeHandle,
} from './layoutItem';
export {
  type CreateMockupRequest,
  createMockupRequestSchema,
  type DuplicateMockupRequest,
  duplicateMockupRequestSchema,
  groupRefSchema,
  type Mockup,
  type MockupAccess,
  mockupSchema,
  type MockupShare,
  type MockupWithLatestVersion,
  mockupWithLatestVersionSchema,
  type SaveVersionRequest,
  saveVersionRequestSchema,
  type ShareMockupRequest,
  shareMockupRequestSchema,
  type TrashedMockup,
  trashedMockupSchema,
  type UpdateMockupRequest,
  updateMockupRequestSchema,
  type UpdateVersionRequest,
  updateVersionRequestSchema,
  type Version,
  versionSchema,
} from './mockup';
export * from './page';
export * from './query';
export * from './review';
