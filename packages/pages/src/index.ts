/**
 * What the pages of the plugins share.
 *
 * @packageDocumentation
 */

export { type Action, ActionButton, ActionDialog } from './ActionDialog';
export { Failure, messageOf, statusOf, useFailureText } from './Failure';
export { LeaveDialog } from './LeaveDialog';
export { ListFrame, SearchInput } from './ListFrame';
export { Loading } from './Loading';
export { Moment } from './Moment';
export { PageHeader } from './PageHeader';
export { NOTHING_PICKED, type Picked, Picker } from './Picker';
export { pagesTranslationRef } from './translation';
export { type Search, useSearch } from './useSearch';
