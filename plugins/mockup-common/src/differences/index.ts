export {
  compareLayouts,
  type ItemDifference,
  type LayoutDifference,
  type VersionDifference,
} from './compareLayouts';
export type { JsonPatchOperation } from './jsonPatch';
