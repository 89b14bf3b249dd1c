// What `npm run pictures` runs: every page of ours, wide and narrow, in both themes, with an empty,
// a full and a failing backend, into a temporary folder; what axe finds there; and the weight of
// the first page. Arguments name some of the pages, and of the states.

import { mkdtempSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import type { Page } from 'playwright-core';
import { violationsOf } from './harness/accessibility';
import { Chromium } from './harness/Chromium';
import {
  addEmptyGlobex,
  addEntityOf,
  addGlobex,
  addMockup,
} from './harness/fill';
import { Portal, User } from './harness/Portal';

interface Picture {
  name: string;
  as: User;
  at?: string;
  /** Of the mockup and its versions, once there are some. */
  path: (mockup: string, versions: string[]) => string;
  /** What a person does there, such as opening a dialog. */
  then?: (page: Page) => Promise<void>;
}

const press = (name: string) => async (page: Page) => {
  await page.getByRole('button', { name }).first().click();
  await page.getByRole('dialog').waitFor();
};
const anna = { as: 'anna', at: 'acme' } as const;
const guest = { as: 'guest' } as const;

/** Those that an empty portal has, too. */
const PAGES: Picture[] = [
  { name: 'catalog', ...anna, path: () => '/' },
  { name: 'tenants', ...guest, path: () => '/tenants?search=globex' },
  { name: 'all-tenants', ...guest, path: () => '/tenants' },
  {
    name: 'new-tenant',
    ...guest,
    path: () => '/tenants',
    then: press('Create tenant'),
  },
  { name: 'tenant', ...guest, path: () => '/tenants/globex' },
  { name: 'members', ...guest, path: () => '/tenants/globex/members' },
  { name: 'sources', ...guest, path: () => '/tenants/globex/sources' },
  { name: 'shares', ...guest, path: () => '/tenants/globex/shares' },
  { name: 'mockups', ...anna, path: () => '/mockups' },
  {
    name: 'new-mockup',
    ...anna,
    path: () => '/mockups',
    then: press('Create mockup'),
  },
  { name: 'trash', ...anna, path: () => '/mockups/trash' },
  { name: 'pages', ...anna, path: () => '/pages' },
];

const PAGES_OF_A_MOCKUP: Picture[] = [
  { name: 'editor', ...anna, path: mockup => `/mockups/${mockup}` },
  {
    name: 'share',
    ...anna,
    path: mockup => `/mockups/${mockup}`,
    then: press('Share'),
  },
  { name: 'page', ...anna, path: () => '/pages/start' },
  { name: 'comments', ...anna, path: mockup => `/mockups/${mockup}/comments` },
  { name: 'versions', ...anna, path: mockup => `/mockups/${mockup}/versions` },
  {
    name: 'version',
    ...anna,
    path: (mockup, [, older]) => `/mockups/${mockup}/versions/${older}`,
  },
  {
    name: 'comparison',
    ...anna,
    path: (mockup, [newer, older]) =>
      `/mockups/${mockup}/versions/${older}/compare/${newer}`,
  },
];

const STATES = ['empty', 'full', 'failing'] as const;
type State = (typeof STATES)[number];

async function takePictures(names: string[]): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
  const portal = await Portal.start();
  const chromium = await Chromium.start(portal);
  const problems: string[] = [];
  const isState = (name: string) => STATES.some(state => state === name);
  const states = names.filter(isState);
  const pagesAsked = names.filter(name => !isState(name));
  const isAsked = ({ name }: Picture) =>
    pagesAsked.length === 0 || pagesAsked.includes(name);
  let mockup = '';
  let versions: string[] = [];

  /** All pages in a state, at both widths and in both themes. */
  async function takeAll(state: State, pages: Picture[]) {
    if (states.length > 0 && !states.includes(state)) {
      return;
    }
    for (const width of [1440, 390]) {
      for (const theme of ['light', 'dark'] as const) {
        for (const picture of pages.filter(isAsked)) {
          const file = `${picture.name}-${state}-${width}-${theme}.png`;
          await take(state, picture, {
            width,
            theme,
            path: join(folder, file),
          });
        }
      }
    }
  }

  async function take(
    state: State,
    { name, as, at, path, then }: Picture,
    options: { width: number; theme: 'light' | 'dark'; path: string },
  ) {
    const { width, theme } = options;
    const visitor = await chromium.visit({ as, at, theme, width, height: 900 });
    const { page } = visitor;
    if (state === 'failing') {
      await page.route(/\/api\/(mockup|tenants)(?!\/mine)/, route =>
        route.fulfill({
          status: 503,
          json: { error: { message: 'Too busy' } },
        }),
      );
    }
    await page.goto(path(mockup, versions));
    // On a busy machine, its code asks for nothing for a while.
    await page.locator('h1, [role=alert]').first().waitFor();
    await visitor.untilQuiet();
    try {
      await then?.(page);
      await visitor.untilQuiet();
    } catch (error) {
      // What opens the dialog is not there where the backend fails.
      if (state !== 'failing') {
        throw error;
      }
    }
    await page.screenshot({ path: options.path, fullPage: !then });
    for (const violation of await violationsOf(page)) {
      problems.push(`${name}, ${state}, ${width}, ${theme}: ${violation}`);
    }
    await visitor.leave();
    process.stdout.write(`${options.path}\n`);
  }

  try {
    await weigh(chromium);
    await addEmptyGlobex(portal);
    await takeAll('empty', PAGES);
    await addGlobex(portal);
    mockup = await addMockup(portal);
    await addEntityOf(portal, mockup);
    const found = (await portal.call(
      'anna',
      `mockup/mockups/${mockup}/versions`,
      {
        tenant: 'acme',
      },
    )) as { id: string }[];
    versions = found.map(({ id }) => id);
    await takeAll('full', [...PAGES, ...PAGES_OF_A_MOCKUP]);
    await takeAll('failing', [...PAGES, ...PAGES_OF_A_MOCKUP]);
  } finally {
    await chromium.stop();
    await portal.remove();
  }
  process.stdout.write(problems.map(problem => `${problem}\n`).join(''));
  return problems.length === 0;
}

/** What the first page of somebody costs who has never been there. */
async function weigh(chromium: Chromium): Promise<void> {
  const visitor = await chromium.visit({ at: 'acme' });
  let requests = 0;
  let bytes = 0;
  visitor.page.on('requestfinished', async request => {
    const sizes = await request.sizes().catch(() => undefined);
    requests += 1;
    bytes += sizes?.responseBodySize ?? 0;
  });
  await visitor.signIn('anna');
  await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
  await visitor.untilQuiet();
  await visitor.leave();
  process.stdout.write(
    `The first page: ${requests} requests, ${Math.round(bytes / 1024)} kB\n`,
  );
}

takePictures(process.argv.slice(2)).then(
  isClean => process.exit(isClean ? 0 : 1),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
