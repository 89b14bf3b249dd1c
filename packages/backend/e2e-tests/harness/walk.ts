import type { Page } from 'playwright-core';
import type { Visitor } from './Visitor';

/** What stock pages say where an address leads nowhere, or all of them has failed. */
const FAILED = /^(error \d{3}|.*page not found|.*not found error).*$/im;

const MESSAGES = '[role=alert]:visible, [role=alertdialog]:visible';

/**
 * Follows every link of the sidebar that is shown, and every tab of an entity that the catalog, the
 * first page, lists.
 *
 * @returns where it was, and what a person would complain about: answers with an error, dead links,
 * messages of failures
 */
export async function walk(
  visitor: Visitor,
  entityPath: string,
): Promise<{ visited: string[]; problems: string[] }> {
  const { page, traffic } = visitor;
  const visited: string[] = [];
  const problems = new Set<string>();
  const before = traffic.calls.length;
  page.on('pageerror', error => problems.add(`Uncaught: ${error.message}`));

  const follow = async (scope: string, href: string) => {
    const link = page.locator(`${scope} a[href="${href}"]:visible`).first();
    // Not by the mouse: the logo of a stock sidebar lies below the page for it.
    await link.evaluate(element => (element as HTMLElement).click());
    await visitor.untilQuiet();
    visited.push(href);
    const messages = await page.locator(MESSAGES).allInnerTexts();
    const failed = FAILED.exec(await page.locator('body').first().innerText());
    for (const text of [...messages, ...(failed ? [failed[0]] : [])]) {
      problems.add(`${href} says: ${text}`);
    }
  };

  const sidebar = 'nav[aria-label="sidebar nav"]';
  for (const href of await linksIn(page, sidebar)) {
    await follow(sidebar, href);
  }
  await follow(sidebar, '/');
  const [entity] = (await linksIn(page, 'body')).filter(href =>
    href.endsWith(entityPath),
  );
  await follow('body', entity);
  for (const href of await linksIn(page, 'body')) {
    if (href.startsWith(`${entityPath}/`)) {
      await follow('body', href);
    }
  }
  for (const { status, method, url } of traffic.calls.slice(before)) {
    if (status >= 400) {
      problems.add(`${status} ${method} ${url}`);
    }
  }
  return { visited, problems: [...problems] };
}

/** The addresses of this portal that somebody sees. */
async function linksIn(page: Page, scope: string): Promise<string[]> {
  const found = await page
    .locator(`${scope} a[href^="/"]:visible`)
    .evaluateAll(links => links.map(link => link.getAttribute('href')!));
  return [...new Set(found)];
}
