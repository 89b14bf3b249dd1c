import {
  collectComponents,
  type MockupComponentsApi,
} from '../components/registry/MockupComponentBlueprint';

/** The registry with one component, called as its title in lower case, which shows one of its props. */
export function componentThatShows(
  prop: string,
  title: string,
): MockupComponentsApi {
  const name = title.toLowerCase();
  return collectComponents([
    {
      extension: name,
      component: {
        name,
        title,
        schema: { type: 'object' },
        defaultProps: {},
        defaultSize: { w: 2, h: 1 },
        loader:
          async () =>
          ({ props }) =>
            <>{String(props[prop])}</>,
      },
    },
  ]);
}
