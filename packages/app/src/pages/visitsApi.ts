import {
  ApiBlueprint,
  type ConfigApi,
  configApiRef,
  createFrontendModule,
} from '@backstage/frontend-plugin-api';
import type { VisitsApi } from '@backstage/plugin-home';
import homePlugin from '@backstage/plugin-home/alpha';

/** How long a page may take to have its title. */
const PATIENCE_MS = 5_000;

/**
 * The visits of the home plugin. Its listener takes the title of the browser's tab in the moment in
 * which a page is opened; many pages know their title only once they have read what they show.
 */
export function withTitles(visits: VisitsApi, portal?: string): VisitsApi {
  const save: VisitsApi['save'] = async ({ visit }) => {
    // Other names are of the address, as those of entities are.
    const isTitle = visit.name === document.title;
    const name = isTitle ? await titleOfPage(portal) : visit.name;
    return visits.save({ visit: { ...visit, name } });
  };
  return Object.assign(Object.create(visits), { save });
}

/** The next title of the tab, without that of the portal; the present one where none comes. */
async function titleOfPage(portal: string | undefined): Promise<string> {
  const { pathname } = window.location;
  const present = document.title;
  const title = await new Promise<string>(resolve => {
    const observer = new MutationObserver(() => {
      if (window.location.pathname !== pathname) {
        end(present);
      } else if (![present, portal].includes(document.title)) {
        end(document.title);
      }
    });
    const timer = setTimeout(() => end(present), PATIENCE_MS);
    function end(found: string) {
      observer.disconnect();
      clearTimeout(timer);
      resolve(found);
    }
    const options = { childList: true, characterData: true, subtree: true };
    observer.observe(document.head, options);
  });
  const end = ` | ${portal}`;
  return title.endsWith(end) ? title.slice(0, -end.length) : title;
}

const visitsApi = homePlugin.getExtension('api:home/visits').override({
  factory(original) {
    const { api, deps, factory } = original().get(
      ApiBlueprint.dataRefs.factory,
    );
    return [
      ApiBlueprint.dataRefs.factory({
        api,
        deps: { ...deps, configApi: configApiRef },
        factory: ({ configApi, ...apis }) =>
          withTitles(
            factory(apis) as VisitsApi,
            (configApi as ConfigApi).getOptionalString('app.title'),
          ),
      }),
    ];
  },
});

/** Replaces the visits of the home plugin. */
export const visits = createFrontendModule({
  pluginId: 'home',
  extensions: [visitsApi],
});
