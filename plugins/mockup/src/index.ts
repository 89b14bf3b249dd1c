/**
 * Mockups of portal pages in the browser: list, editor, history.
 *
 * @packageDocumentation
 */

export { mockupPlugin as default } from './plugin';
export { mockupApiRef } from './api';
export { mockupTranslationRef, pagesTranslationRef } from './translation';
export {
  type MockupComponent,
  type MockupComponentData,
  MockupComponentBlueprint,
  type MockupComponentProps,
  type MockupComponentsApi,
  mockupComponentsApiRef,
  type MockupDataSources,
} from './components/registry/MockupComponentBlueprint';
export { useHomePage } from './pages/useHomePage';
export { MOCKUPS_ANNOTATION } from './entity/annotation';
