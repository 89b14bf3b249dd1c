/**
 * Types, schemas, permissions and the client of the mockup plugin.
 *
 * @packageDocumentation
 */

export * from './client';
export {
  allItems,
  isContainer,
  itemsWithin,
  type PlacedItem,
  withItems,
  withoutItems,
} from './containers';
export { compareLayouts } from './differences/compareLayouts';
export { isEqualJson } from './differences/isEqualJson';
export { MOCKUP_FILE, MOCKUP_LIMITS } from './limits';
export { mentionsOf } from './mentions';
export * from './permissions';
export {
  type PhonePlace,
  phonePlaceOf,
  withoutPhonePlace,
  withPhonePlace,
} from './phone';
export { countQueries } from './queries';
export * from './schemas';
export type * from './types';
