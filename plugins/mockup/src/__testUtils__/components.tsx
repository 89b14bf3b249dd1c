import { createExtensionTester } from '@backstage/frontend-test-utils';
import {
  collectComponents,
  type MockupComponent,
  mockupComponentDataRef,
  type MockupComponentsApi,
} from '../components/registry/MockupComponentBlueprint';

/** The components of extensions. */
export const componentsOf = (
  extensions: readonly Parameters<typeof createExtensionTester>[0][],
): MockupComponent[] =>
  extensions.map(extension =>
    createExtensionTester(extension).get(mockupComponentDataRef),
  );

/** The registry with these components. */
export const registryOf = (...components: MockupComponent[]) =>
  collectComponents(
    components.map(component => ({ extension: component.name, component })),
  );

/** The registry with one component, called as its title in lower case, which shows one of its props. */
export function componentThatShows(
  prop: string,
  title: string,
): MockupComponentsApi {
  const name = title.toLowerCase();
  return registryOf({
    name,
    title,
    schema: { type: 'object' },
    defaultProps: {},
    defaultSize: { w: 2, h: 1 },
    loader:
      async () =>
      ({ props }) =>
        <>{String(props[prop])}</>,
  });
}
