export { kindsOf } from './entityColumns';
export type { ConditionContext } from './fieldCondition';
export { filterCondition } from './filterCondition';
export { orderValue } from './orderValue';
export { SPECIAL_PATHS } from './searchRows';
export { isStorable, UNICODE_COLLATION, ValueText } from './values';
