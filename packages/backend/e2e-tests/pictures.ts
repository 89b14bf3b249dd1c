// What `npm run pictures` runs: every page of ours, wide and narrow, in both themes, with an empty,
// a full and a failing backend, and every dialog, into a temporary folder; what axe finds there; and
// the weight of the first page. Arguments name some of the states, widths, themes and pages.

import { mkdtempSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import type { Page } from 'playwright-core';
import { violationsOf } from './harness/accessibility';
import { Chromium, type VisitOptions } from './harness/Chromium';
import {
  addEmptyGlobex,
  addEntityOf,
  addGlobex,
  addMockup,
  addToBeRemoved,
} from './harness/fill';
import { Portal, User } from './harness/Portal';
import type { Visitor } from './harness/Visitor';

interface Picture {
  name: string;
  as?: User;
  at?: string;
  /** Of the mockup and its versions, once there are some. */
  path: (mockup: string, versions: string[]) => string;
  /** What a person does there, such as opening a dialog. */
  then?: (page: Page) => Promise<void>;
}

/** Presses one after the other. The last one opens a dialog. */
const press =
  (...names: (string | RegExp)[]) =>
  async (page: Page) => {
    for (const name of names) {
      const [button, link, menuItem] = (
        ['button', 'link', 'menuitem'] as const
      ).map(role => page.getByRole(role, { name, exact: true }));
      await button.or(link).or(menuItem).first().click();
    }
    await page.getByRole('dialog').last().waitFor();
  };

/** Chooses something in a list, and presses what is there for that. */
const choose =
  (name: string | RegExp, action: string) => async (page: Page) => {
    const box = page.getByRole('checkbox', { name }).first();
    // It is not seen itself: what is drawn belongs to its label.
    await box.check({ force: true });
    await press(action)(page);
  };
const anna = { as: 'anna', at: 'acme' } as const;
const guest = { as: 'guest' } as const;

/** Those that an empty portal has, too. */
const PAGES: Picture[] = [
  { name: 'catalog', ...anna, path: () => '/' },
  { name: 'tenants', ...guest, path: () => '/tenants?search=globex' },
  { name: 'all-tenants', ...guest, path: () => '/tenants' },
  { name: 'tenant', ...guest, path: () => '/tenants/globex' },
  { name: 'members', ...guest, path: () => '/tenants/globex/members' },
  { name: 'sources', ...guest, path: () => '/tenants/globex/sources' },
  { name: 'shares', ...guest, path: () => '/tenants/globex/shares' },
  { name: 'activity', ...guest, path: () => '/tenants/globex/activity' },
  { name: 'mockups', ...anna, path: () => '/mockups' },
  { name: 'trash', ...anna, path: () => '/mockups/trash' },
  { name: 'pages', ...anna, path: () => '/pages' },
];

const PAGES_OF_A_MOCKUP: Picture[] = [
  { name: 'editor', ...anna, path: mockup => `/mockups/${mockup}` },
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

const ofTenants = { ...guest, path: () => '/tenants?search=globex' };
const ofGlobex = { ...guest, path: () => '/tenants/globex' };
const ofMembers = { ...guest, path: () => '/tenants/globex/members' };
const ofSources = { ...guest, path: () => '/tenants/globex/sources' };
const ofShares = { ...guest, path: () => '/tenants/globex/shares' };
const ofMockups = { ...anna, path: () => '/mockups' };
const ofTrash = { ...anna, path: () => '/mockups/trash' };
const ofEditor = { ...anna, path: (mockup: string) => `/mockups/${mockup}` };

/** What is the same in every state: pages for those who are in no tenant, and dialogs. */
const ONCE: Picture[] = [
  { name: 'sign-in', path: () => '/' },
  { name: 'refused', as: 'peter', at: 'acme', path: () => '/' },
  { name: 'invitation', ...anna, path: () => '/invitation#token' },
  { name: 'new-tenant', ...ofTenants, then: press('Create tenant') },
  { name: 'several-tenants', ...ofTenants, then: choose(/^Select/, 'Delete') },
  { name: 'edit-tenant', ...ofGlobex, then: press('Edit name and limits') },
  { name: 'pause', ...ofGlobex, then: press('Pause engine') },
  { name: 'delete-tenant', ...ofGlobex, then: press('Delete tenant') },
  { name: 'remove-member', ...ofMembers, then: press(/^Remove Anna/i) },
  { name: 'invite', ...ofMembers, then: press('Invite…') },
  { name: 'revoke', ...ofMembers, then: press(/^Remove the invitation/) },
  {
    name: 'remove-source',
    ...ofSources,
    then: press(/^Remove the registered/),
  },
  {
    name: 'leave-sources',
    ...ofSources,
    then: async page => {
      await page.getByRole('textbox', { name: 'URL' }).fill('https://');
      await press('Members')(page);
    },
  },
  { name: 'share-entities', ...ofShares, then: press('Share entities') },
  { name: 'end-share', ...ofShares, then: press(/^End the share/) },
  { name: 'new-mockup', ...ofMockups, then: press('Create mockup') },
  {
    name: 'import',
    ...ofMockups,
    then: press('More actions', 'Import a file'),
  },
  {
    name: 'edit-mockup',
    ...ofMockups,
    then: press('Actions of Start page', 'Name and description'),
  },
  {
    name: 'duplicate',
    ...ofMockups,
    then: press('Actions of Start page', 'Duplicate'),
  },
  {
    name: 'several-mockups',
    ...ofMockups,
    then: choose('Choose Start page', 'Move to the trash'),
  },
  { name: 'purge', ...ofTrash, then: press(/^Delete .* for good$/) },
  {
    name: 'several-purge',
    ...ofTrash,
    then: choose(/^Choose/, 'Delete for good'),
  },
  { name: 'share', ...ofEditor, then: press('Share') },
  { name: 'keys', ...ofEditor, then: press('Keyboard shortcuts') },
  { name: 'details', ...ofEditor, then: press('Name and description') },
  { name: 'note', ...ofEditor, then: press('Save with a tag or message') },
  { name: 'copy', ...ofEditor, then: press('Save a copy') },
  { name: 'publish', ...ofEditor, then: press('Publish') },
  {
    name: 'restore',
    ...anna,
    path: mockup => `/mockups/${mockup}/versions`,
    then: press(/^Restore/),
  },
  {
    name: 'tag',
    ...anna,
    path: mockup => `/mockups/${mockup}/versions`,
    then: press(/^Change the tag/),
  },
  // From here on, the browser has a draft.
  {
    name: 'leave-editor',
    ...ofEditor,
    then: async page => {
      await page.getByRole('button', { name: 'Add Button' }).click();
      await page.getByText('This browser keeps a draft').first().waitFor();
      await press('Versions')(page);
    },
  },
  { name: 'draft', ...ofEditor, then: press() },
];

const STATES = ['empty', 'full', 'failing'] as const;
type State = (typeof STATES)[number];
const WIDTHS = ['1440', '390'] as const;
const THEMES = ['light', 'dark'] as const;

const NAMES = [...PAGES, ...PAGES_OF_A_MOCKUP, ...ONCE].map(({ name }) => name);

const USAGE = `Usage: npm run pictures -- [word]...

Words choose states, widths, themes and pages. Where no word chooses among them, all are taken.

  States  ${STATES.join(', ')}
  Widths  ${WIDTHS.join(', ')}
  Themes  ${THEMES.join(', ')}
  Pages   ${NAMES.join(', ')}
`;

/** @returns the exit code */
async function main(asked: string[]): Promise<number> {
  if (asked.includes('--help')) {
    process.stdout.write(USAGE);
    return 0;
  }
  const known: string[] = [...STATES, ...WIDTHS, ...THEMES, ...NAMES];
  const unknown = asked.find(word => !known.includes(word));
  if (unknown) {
    process.stderr.write(`Unknown word "${unknown}".\n\n${USAGE}`);
    return 2;
  }
  return (await takePictures(asked)) ? 0 : 1;
}

/** @returns whether there is no problem in any of them */
async function takePictures(asked: string[]): Promise<boolean> {
  /** Those that the arguments name; all where they name none. */
  const chosen = <T extends string>(all: readonly T[]): readonly T[] => {
    const some = all.filter(each => asked.includes(each));
    return some.length > 0 ? some : all;
  };
  const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
  const portal = await Portal.start();
  const chromium = await Chromium.start(portal);
  const problems: string[] = [];
  const taken: string[] = [];
  let mockup = '';
  let versions: string[] = [];

  /** All pages in a state, at both widths and in both themes. */
  async function takeAll(state: State, pages: Picture[]) {
    if (!chosen(STATES).includes(state)) {
      return;
    }
    for (const theme of chosen(THEMES)) {
      for (const picture of pages) {
        const { name, as, at } = picture;
        if (chosen(NAMES).includes(name)) {
          const found = await look({ as, at, theme }, visitor =>
            take(state, picture, theme, visitor),
          );
          problems.push(
            ...found.map(problem => `${name}, ${state}, ${theme}: ${problem}`),
          );
        }
      }
    }
  }

  /** What is wrong with what a visitor sees. */
  async function look(
    options: VisitOptions,
    work: (visitor: Visitor) => Promise<string[]>,
  ): Promise<string[]> {
    const visitor = await chromium.visit(options);
    try {
      return await work(visitor);
    } catch (error) {
      return [(error as Error).message];
    } finally {
      await visitor.leave();
    }
  }

  /** What axe finds in a picture of each width. */
  async function take(
    state: State,
    { name, path, then }: Picture,
    theme: string,
    visitor: Visitor,
  ): Promise<string[]> {
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
    await then?.(page);
    const found: string[] = [];
    for (const width of chosen(WIDTHS)) {
      await page.setViewportSize({ width: Number(width), height: 900 });
      await visitor.untilQuiet();
      const file = join(folder, `${name}-${state}-${width}-${theme}.png`);
      await page.screenshot({ path: file, fullPage: !then });
      process.stdout.write(`${file}\n`);
      taken.push(name);
      const violations = await violationsOf(page);
      found.push(...violations.map(violation => `${width}: ${violation}`));
    }
    return found;
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
    await addToBeRemoved(portal);
    await takeAll('full', [...PAGES, ...PAGES_OF_A_MOCKUP, ...ONCE]);
    await takeAll('failing', [...PAGES, ...PAGES_OF_A_MOCKUP]);
  } finally {
    await chromium.stop();
    await portal.remove();
  }
  process.stdout.write(
    [
      `Problems, with what axe finds serious, in ${taken.length} pictures of ` +
        `${new Set(taken).size} pages and dialogs: ${problems.length}`,
      ...problems,
      '',
    ].join('\n'),
  );
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
  const { calls } = visitor.traffic;
  const aboutTenants = calls.filter(({ url }) =>
    url.pathname.startsWith('/api/tenants/'),
  );
  process.stdout.write(
    `The first page: ${requests} requests, ${calls.length} of the API, ` +
      `${aboutTenants.length} about tenants, ${Math.round(bytes / 1024)} kB\n`,
  );
}

main(process.argv.slice(2)).then(
  code => process.exit(code),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
