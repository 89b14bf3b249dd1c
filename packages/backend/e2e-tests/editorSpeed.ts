// What `npm run bench:editor` runs: measures how fast the editor of mockups is in Chromium with
// as many items as a mockup may have, on a portal with data of its own and its built pages.

import type { Page } from 'playwright-core';
import { Chromium } from './harness/Chromium';
import { findChromium } from './harness/findChromium';
import { Portal } from './harness/Portal';

/** As many as a mockup may have. */
const ITEMS = 1000;

const PIECES = [
  { component: 'text', props: { text: 'Text of the page.' } },
  { component: 'header', props: { title: 'Header' } },
  { component: 'button', props: { label: 'Button' } },
];

const DRAG_STEPS = 120;
const KEYS = 30;

async function createMockup(portal: Portal): Promise<string> {
  const { id } = (await portal.call('guest', 'mockup/mockups', {
    method: 'POST',
    body: { name: 'As many items as there may be' },
  })) as { id: string };
  await portal.call('guest', `mockup/mockups/${id}/versions`, {
    method: 'POST',
    body: {
      layoutData: Array.from({ length: ITEMS }, (_, n) => ({
        i: `item-${n}`,
        x: (n % 4) * 3,
        y: Math.floor(n / 4) * 3,
        w: 3,
        h: 3,
        ...PIECES[n % PIECES.length],
      })),
    },
  });
  return id;
}

/** Milliseconds from the request of the page until it has answered a click on an item. */
async function timeToInteractive(page: Page, id: string): Promise<number> {
  await page.goto(`/mockups/${id}`);
  const first = page.getByRole('option').first();
  await first.click();
  await page.locator('[role=option][aria-selected=true]').waitFor();
  return await page.evaluate(() => performance.now());
}

/** The times between the frames that the page draws while something is done, in order of size. */
async function frameTimes(page: Page, act: () => Promise<void>) {
  await page.evaluate(() => {
    const frames: number[] = [];
    let last = performance.now();
    const next = (now: number) => {
      frames.push(now - last);
      last = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    Object.assign(window, { frames });
  });
  await act();
  const frames = await page.evaluate(
    () => (window as unknown as { frames: number[] }).frames,
  );
  return frames.slice(1).sort((a, b) => a - b);
}

function print(name: string, frames: number[]): void {
  const at = (share: number) =>
    Math.round(frames[Math.floor((frames.length - 1) * share)]);
  const slow = frames.filter(time => time > 50).length;
  process.stdout.write(
    `${name}: ${frames.length} frames, median ${at(0.5)} ms, 95 % ${at(
      0.95,
    )} ms, ` + `longest ${at(1)} ms, ${slow} longer than 50 ms\n`,
  );
}

async function drag(page: Page): Promise<void> {
  const box = await page.getByRole('option').first().boundingBox();
  if (!box) {
    throw new Error('The first item is out of sight');
  }
  const [x, y] = [box.x + box.width / 2, box.y + 20];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let step = 1; step <= DRAG_STEPS; step += 1) {
    await page.mouse.move(x + 2 * step, y + 4 * step);
  }
  await page.mouse.up();
}

async function measure(): Promise<void> {
  if (!findChromium()) {
    throw new Error(
      'There is no Chromium in the path. Install one, or name it by the variable CHROMIUM.',
    );
  }
  const portal = await Portal.start();
  try {
    const chromium = await Chromium.start(portal);
    try {
      const { page } = await chromium.visit({ as: 'guest' });
      const id = await createMockup(portal);
      const interactive = await timeToInteractive(page, id);
      process.stdout.write(
        `${ITEMS} items: interactive after ${Math.round(interactive)} ms\n`,
      );
      print('drag', await frameTimes(page, () => drag(page)));
      print(
        'arrow keys',
        await frameTimes(page, async () => {
          for (let key = 0; key < KEYS; key += 1) {
            await page.keyboard.press('ArrowRight');
            await page.keyboard.press('ArrowDown');
          }
        }),
      );
    } finally {
      await chromium.stop();
    }
  } finally {
    await portal.remove();
  }
}

measure().then(
  () => process.exit(0),
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
