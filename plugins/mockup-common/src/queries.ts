import { allItems } from './containers';
import { withoutPhonePlace } from './phone';
import type { LayoutItem } from './schemas/layoutItem';

/** The components of the plugin, and of its app, that ask the portal for what they show. */
const LIVE_COMPONENTS = new Set([
  'entity-table',
  'entity-cards',
  'entity-fields',
  'entity-count',
  'entity-chart',
  'entity-relations',
  'markdown',
  'search-results',
  'notifications',
]);

/**
 * How many different things the live components of a layout ask for. Those of integrators are not
 * among them: the page counts them when it is drawn.
 *
 * @public
 */
export function countQueries(items: readonly LayoutItem[]): number {
  const queries = allItems(items)
    .filter(({ item }) => LIVE_COMPONENTS.has(item.component))
    .map(({ item }) =>
      JSON.stringify([item.component, withoutPhonePlace(item.props)]),
    );
  return new Set(queries).size;
}
