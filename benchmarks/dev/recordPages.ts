// Records what the pages of the portal ask of the catalog, for the benchmark `pages`: opens
// them in Chromium, on the entities that the benchmark has, and writes `recorded.json`.
// `packages/app` has to be built. The variable CHROMIUM names the browser, if it is not
// `/usr/bin/chromium`.

import { Postgres } from '@internal/postgres';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page, type Request } from 'playwright-core';
import { CatalogPairs } from '../src/harness/catalogs';
import { CatalogServer } from '../src/harness/CatalogServer';
import { createEntity } from '../src/harness/entities';
import { LinkedEntities, RECORDED } from '../src/pages/entities';
import type { RecordedRequest, View } from '../src/pages/views';

// The recorded entities are in a catalog of any size from this one on.
const ENTITIES = 500;

const QUIET_MS = 3_000;

/** A page, what is done on it, and whether only that is recorded. */
interface Visit {
  what: string;
  path: string;
  /** What the page shows once it is complete. */
  shows: string;
  then?: (page: Page) => Promise<void>;
}

const entities = new LinkedEntities(ENTITIES);

const VISITS: Visit[] = [
  { what: 'index page', path: '/catalog', shows: 'Owned components' },
  {
    what: 'index page, all',
    path: '/catalog?filters[kind]=component&filters[user]=all',
    shows: 'All components',
  },
  {
    what: 'search as one types',
    path: '/catalog?filters[kind]=component&filters[user]=all',
    shows: 'All components',
    then: async page => {
      // Slower than the page waits for the next letter, or it would ask once.
      await page
        .getByPlaceholder('Search')
        .first()
        .pressSequentially('basket', { delay: 600 });
    },
  },
  ...RECORDED.components.map(number => ({
    what: 'entity page',
    path: pageOf(number),
    shows: 'Relations',
  })),
  {
    what: 'entity page of a system',
    path: pageOf(RECORDED.system),
    shows: 'Relations',
  },
  {
    what: 'page of a team',
    path: pageOf(RECORDED.team),
    shows: 'Ownership',
  },
  { what: 'page of the user', path: pageOf(19), shows: 'Ownership' },
  {
    what: 'graph',
    path: `/catalog-graph?rootEntityRefs[]=${entities.refOf(
      RECORDED.components[1],
    )}&maxDepth=2`,
    shows: createEntity(RECORDED.components[1]).entity.metadata.title!,
  },
];

function pageOf(number: number): string {
  const [kind, name] = entities.refOf(number).split(':');
  const [namespace, rest] = name.split('/');
  return `/catalog/${namespace}/${kind}/${rest}`;
}

async function main(): Promise<void> {
  const progress = (line: string) => process.stderr.write(`${line}\n`);
  const postgres = await Postgres.start();
  const { connection } = postgres;
  try {
    const pairs = new CatalogPairs({ postgres, progress });
    const size = { entities: ENTITIES };
    const { ours } = await pairs.create(size, entities.create);
    const server = await CatalogServer.start(
      { connection },
      {
        name: 'the portal',
        database: ours.name,
        tenant: 'default',
        withPages: true,
      },
    );
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      chromiumSandbox: process.getuid?.() !== 0,
    });
    try {
      const page = await browser.newPage({ baseURL: server.url });
      await page.goto('/');
      const button = page.getByRole('button', { name: /^Administrator/ });
      await button.click();
      await button.waitFor({ state: 'detached' });
      const views = [];
      for (const visit of VISITS) {
        const view = await record(page, visit);
        progress(`${view.what}: ${view.requests.length} requests`);
        views.push(view);
      }
      writeFileSync(
        join(__dirname, '../src/pages/recorded.json'),
        `${JSON.stringify(views, undefined, 2)}\n`,
      );
    } finally {
      await browser.close();
      await server.stop();
    }
  } finally {
    await postgres.stop();
  }
}

/** Opens a page and returns what it has asked for, in steps: see {@link RecordedRequest}. */
async function record(page: Page, visit: Visit): Promise<View> {
  const { what, path, shows, then } = visit;
  let asked: Array<RecordedRequest & { isOver: boolean; of: Request }> = [];
  let last = Date.now();
  const onRequest = (of: Request) => {
    last = Date.now();
    if (of.isNavigationRequest()) {
      // What the page that is left has asked for is never answered.
      asked = [];
    }
    const url = new URL(of.url());
    if (!url.pathname.startsWith('/api/catalog/')) {
      return;
    }
    const before = asked.filter(({ isOver }) => isOver);
    const body: unknown = of.postDataJSON();
    asked.push({
      method: of.method() as RecordedRequest['method'],
      path: `${url.pathname.slice('/api/catalog'.length)}${url.search}`,
      ...(body !== null && { body: body as object }),
      step: Math.max(-1, ...before.map(({ step }) => step)) + 1,
      isOver: false,
      of,
    });
  };
  const onEnd = (of: Request) => {
    last = Date.now();
    for (const each of asked.filter(({ of: it }) => it === of)) {
      each.isOver = true;
    }
  };
  const untilQuiet = async () => {
    while (
      asked.some(({ isOver }) => !isOver) ||
      Date.now() - last < QUIET_MS
    ) {
      await page.waitForTimeout(100);
    }
  };
  page.on('request', onRequest);
  page.on('requestfinished', onEnd);
  page.on('requestfailed', onEnd);
  await page.goto(path);
  await page.getByText(shows).first().waitFor();
  await untilQuiet();
  if (then) {
    asked = [];
    await then(page);
    await untilQuiet();
  }
  page.off('request', onRequest);
  page.off('requestfinished', onEnd);
  page.off('requestfailed', onEnd);
  return {
    what,
    requests: asked.map(({ isOver: _, of: __, ...request }) => request),
  };
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
