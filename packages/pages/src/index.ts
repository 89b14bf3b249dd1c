/**
 * What the pages of the plugins share.
 *
 * @packageDocumentation
 */

export {
  type Action,
  ActionButton,
  ActionDialog,
  DANGER,
  LeaveDialog,
} from './ActionDialog';
export { Alert } from './Alert';
export { CopyButton } from './CopyButton';
export { EmptyState } from './EmptyState';
export {
  Failure,
  messageOf,
  ReadFailure,
  statusOf,
  useFailureText,
} from './Failure';
export { newIdempotencyKey } from './idempotencyKey';
export { ifThere } from './ifThere';
export { keepFocus } from './keepFocus';
export { ListFrame, SearchInput } from './ListFrame';
export { Loaded } from './Loaded';
export { Loading } from './Loading';
export { Main } from './Main';
export { MoreButton } from './MoreButton';
export { Moment, useDay, useExactTime, useNumber } from './Moment';
export { PageHeader } from './PageHeader';
export { type Found, NOTHING_PICKED, type Picked, Picker } from './Picker';
export { slugOf } from './slugOf';
export { TextLink } from './TextLink';
export { pagesTranslationRef } from './translation';
export { useFocusPassedOn } from './useFocusPassedOn';
export { useIsSlow } from './useIsSlow';
export { useLaterFocus } from './useLaterFocus';
export { useListQuery } from './useListQuery';
export {
  type SelectedAction,
  SelectedActions,
  useSelection,
} from './Selection';
export { Skeleton } from './Skeleton';
export { SlowNote } from './SlowNote';
export { usePages } from './usePages';
export { UnreadPage } from './UnreadPage';
export { useRead } from './useRead';
export { useTask } from './useTask';
