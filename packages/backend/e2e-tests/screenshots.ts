// What `npm run screenshots` runs: takes the pictures of README.md and docs/ from a portal
// with the examples, whatever the developer's own one has. Arguments name some of them.

import { mkdirSync } from 'fs';
import { join } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { Chromium, VisitOptions } from './harness/Chromium';
import { addEntityOf, addGlobex, addMockup } from './harness/fill';
import { findChromium } from './harness/findChromium';
import { Portal } from './harness/Portal';
import type { Visitor } from './harness/Visitor';

interface Picture {
  name: string;
  visit: VisitOptions;
  path: string;
  /** What is seen once the page is complete. */
  shows: string;
  /** What a person would do then. */
  then?: (visitor: Visitor) => Promise<void>;
}

const PICTURES: Picture[] = [
  {
    name: 'catalog',
    visit: { at: 'acme', as: 'anna' },
    path: '/?filters[user]=all',
    shows: 'Routes',
  },
  {
    name: 'tenants',
    visit: { as: 'guest' },
    path: '/tenants',
    shows: 'Initech',
  },
  {
    name: 'members',
    visit: { as: 'guest' },
    path: '/tenants/acme/members',
    shows: 'A viewer reads.',
  },
  {
    name: 'sources',
    visit: { as: 'guest', height: 1000 },
    path: '/tenants/globex/sources',
    shows: 'Locations',
  },
  {
    name: 'mockup-editor',
    visit: { at: 'acme', as: 'anna', height: 1000 },
    path: '/mockups?search=Start',
    shows: 'Start page',
    then: async ({ page }) => {
      await page.getByRole('link', { name: 'Start page' }).click();
      await page.getByRole('option', { name: /^Chart/ }).click();
      await page.getByRole('textbox', { name: 'Title' }).first().waitFor();
    },
  },
  {
    name: 'mockup-share',
    visit: { at: 'acme', as: 'anna' },
    path: '/mockups?search=Start',
    shows: 'Start page',
    then: async visitor => {
      const { page } = visitor;
      await page.getByRole('button', { name: 'Actions of Start page' }).click();
      await page.getByRole('menuitem', { name: 'Share' }).click();
      await page.getByRole('button', { name: 'Remove storefront' }).waitFor();
      await visitor.untilQuiet();
    },
  },
  {
    name: 'mockup-compare',
    visit: { at: 'acme', as: 'anna', height: 1000 },
    path: '/mockups?search=Start',
    shows: 'Start page',
    then: async visitor => {
      const { page } = visitor;
      await page.getByRole('link', { name: 'Start page' }).click();
      await page.getByRole('link', { name: 'Versions' }).click();
      await page.getByRole('link', { name: 'First draft' }).click();
      await page.getByRole('link', { name: 'Compare with the newest' }).click();
      await page.getByRole('button', { name: 'Next difference' }).click();
      await visitor.untilQuiet();
    },
  },
  {
    name: 'mockup-entity',
    visit: { at: 'acme', as: 'anna', height: 640 },
    path: '/catalog/default/component/storefront/mockups',
    shows: 'What everybody at Acme sees first',
  },
];

async function takePictures(): Promise<void> {
  if (!findChromium()) {
    throw new Error(
      'There is no Chromium in the path, and CHROMIUM names none',
    );
  }
  const folder = targetPaths.resolveRoot('docs/images');
  mkdirSync(folder, { recursive: true });
  const portal = await Portal.start();
  const chromium = await Chromium.start(portal);
  try {
    await addGlobex(portal);
    const mockupId = await addMockup(portal);
    await addEntityOf(portal, mockupId);
    const names = process.argv.slice(2);
    const pictures = PICTURES.filter(
      ({ name }) => names.length === 0 || names.includes(name),
    );
    for (const { name, visit, path, shows, then } of pictures) {
      const visitor = await chromium.visit(visit);
      await visitor.open(path);
      await visitor.page.getByText(shows).first().waitFor();
      await visitor.untilQuiet();
      await then?.(visitor);
      await visitor.page.screenshot({ path: join(folder, `${name}.png`) });
      await visitor.leave();
      process.stdout.write(`docs/images/${name}.png\n`);
    }
  } finally {
    await chromium.stop();
    await portal.remove();
  }
}

takePictures().then(
  () => process.exit(0),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
