export {
  group,
  term,
  type Condition,
  type TermCondition,
  type ValueTest,
} from './Condition';
export { readFilter } from './readFilter';
export { isStorable, storedKeys } from './values';
