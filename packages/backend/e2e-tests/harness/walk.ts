import type { Page } from 'playwright-core';

const NOT_FOUND = /page not found|not found error|no such page|404/i;

/**
 * Follows every link of the sidebar that is shown, and every tab of an entity, by clicks.
 *
 * @returns where it was, and what a person would complain about: answers with an error, dead links,
 * messages of failures
 */
export async function walk(
  page: Page,
  entity: { link: string; path: string },
): Promise<{ visited: string[]; problems: string[] }> {
  const visited: string[] = [];
  const problems: string[] = [];
  page.on('response', response => {
    if (response.status() >= 400 && response.url().includes('/api/')) {
      problems.push(`${response.status()} ${response.url()}`);
    }
  });
  page.on('pageerror', error => problems.push(`Uncaught: ${error.message}`));

  const follow = async (scope: string, href: string) => {
    await page.locator(`${scope} a[href="${href}"]`).first().click();
    // Answers first, then what they show.
    await page.waitForLoadState('networkidle');
    visited.push(href);
    const says = await page.locator('[role=alert]:visible').allInnerTexts();
    const headings = await page.locator('h1:visible').allInnerTexts();
    for (const text of [
      ...says,
      ...headings.filter(each => NOT_FOUND.test(each)),
    ]) {
      problems.push(`${href} says: ${text}`);
    }
  };

  const sidebar = 'nav[aria-label="sidebar nav"]';
  for (const href of await linksIn(page, sidebar)) {
    await follow(sidebar, href);
  }
  await follow(sidebar, entity.link);
  await page.locator(`a[href$="${entity.path}"]:visible`).first().click();
  await page.waitForLoadState('networkidle');
  const tabs = (await linksIn(page, 'body')).filter(href =>
    href.startsWith(`${entity.path}/`),
  );
  for (const href of tabs) {
    await follow('body', href);
  }
  return { visited, problems: [...new Set(problems)] };
}

/** The addresses of this portal that somebody sees. */
async function linksIn(page: Page, scope: string): Promise<string[]> {
  const found = await page
    .locator(`${scope} a[href^="/"]:visible`)
    .evaluateAll(links => links.map(link => link.getAttribute('href')!));
  return [...new Set(found)];
}
