import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** What this repository draws, wherever it is: no excuse holds inside. */
const OURS = 'nav, [role="dialog"]';

/** The pages that this repository draws as a whole. */
const OUR_PAGES = /^\/(tenants|mockups|pages|invitation)(\/|$)/;

/**
 * What stock pages of Backstage violate by themselves. An excuse holds for its page and for
 * what is inside of elements that Backstage or its libraries draw there.
 */
const EXCUSES: Array<{
  rule: string;
  page: RegExp;
  within: string;
  why: string;
  /** The check does not see it in each run: something may lie over it. */
  isRare?: true;
  /** Whether it was needed. */
  isUsed?: true;
}> = [
  {
    rule: 'nested-interactive',
    page: /^\/($|api-docs)/,
    within: 'th .MuiTableSortLabel-root',
    why: 'The head of the table of core-components: a button inside a button.',
  },
  {
    rule: 'label',
    page: /^\/catalog-graph/,
    within: 'input[aria-autocomplete="list"]',
    why: 'Relations and kinds of the graph are labelled by text alone.',
  },
  {
    rule: 'color-contrast',
    page: /^\/catalog\/.*\/api\//,
    within: '.swagger-ui',
    why: 'Swagger UI has colours of its own.',
  },
  {
    rule: 'nested-interactive',
    page: /^\/catalog\/.*\/api\//,
    within: '.swagger-ui',
    why: 'An operation of Swagger UI is a button that has another one inside.',
  },
  {
    rule: 'color-contrast',
    page: /^\/search/,
    within: '.MuiListItem-divider',
    why: 'Secondary text of a result on the background of the page.',
  },
  {
    rule: 'listitem',
    page: /^\/search/,
    within: '.MuiListItem-divider',
    why: 'A result is an item outside of a list.',
  },
  {
    rule: 'aria-valid-attr-value',
    page: /^\/settings/,
    within: '.bui-Tab',
    why: 'A tab of @backstage/ui names a panel that is not there.',
  },
  {
    rule: 'color-contrast',
    page: /^\/settings/,
    within: '.MuiToggleButton-root',
    why: 'The theme that is not chosen is grey on grey.',
    isRare: true,
  },
];

/** The excuses that no page was in need of, although all were looked at. */
export function idleExcuses(): string[] {
  return EXCUSES.filter(({ isUsed, isRare }) => !isUsed && !isRare).map(
    ({ rule, page, within }) => `${rule} on ${page} within ${within}`,
  );
}

/**
 * The serious violations of a page in both themes, but for those that are excused. The page is
 * left in the other theme than it had.
 */
export async function violationsInThemes(
  page: Page,
  untilShown: () => Promise<void>,
): Promise<string[]> {
  const isDark = await page.evaluate(
    () => matchMedia('(prefers-color-scheme: dark)').matches,
  );
  const [theme, other] = isDark
    ? (['dark', 'light'] as const)
    : (['light', 'dark'] as const);
  await untilShown();
  const found = (await violationsOf(page)).map(each => `${theme}: ${each}`);
  await page.emulateMedia({ colorScheme: other });
  // A page that changes its theme while it is open keeps some colours of the one before, which
  // is Backstage's.
  await untilShown();
  await page.goto(page.url());
  await page.locator(`[data-theme-mode="${other}"]`).first().waitFor();
  await untilShown();
  const others = (await violationsOf(page)).map(each => `${other}: ${each}`);
  return [...found, ...others];
}

/** Those of a page as it is. */
export async function violationsOf(page: Page): Promise<string[]> {
  const { pathname } = new URL(page.url());
  const { violations } = await new AxeBuilder({ page })
    // Without a page of its own, which would be a visitor's.
    .setLegacyMode(true)
    // Without the many elements that pass.
    .options({ resultTypes: ['violations'] })
    // What React Aria says of a button is kept here for a moment after the button is gone.
    .exclude('[data-live-announcer]')
    .analyze();
  const found: string[] = [];
  for (const { id, impact, nodes, help } of violations) {
    if (impact !== 'serious' && impact !== 'critical') {
      continue;
    }
    for (const { target, html } of nodes) {
      const selector = target.flat().join(' ');
      if (!(await isExcused(page, pathname, id, selector))) {
        found.push(`${pathname}: ${id} (${help}) at ${selector}: ${html}`);
      }
    }
  }
  return found;
}

async function isExcused(
  page: Page,
  pathname: string,
  rule: string,
  selector: string,
): Promise<boolean> {
  if (OUR_PAGES.test(pathname)) {
    return false;
  }
  const excuses = EXCUSES.filter(
    excuse => excuse.rule === rule && excuse.page.test(pathname),
  );
  const used = await page.evaluate(
    ({ at, ours, places }) => {
      const element = document.querySelector(at);
      return element === null ||
        element.closest(ours) ||
        element.querySelector(ours)
        ? -1
        : places.findIndex(place => element.closest(place));
    },
    { at: selector, ours: OURS, places: excuses.map(({ within }) => within) },
  );
  if (used === -1) {
    return false;
  }
  excuses[used].isUsed = true;
  return true;
}
