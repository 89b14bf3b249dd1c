import { readFile } from 'fs/promises';
import type { Locator, Page } from 'playwright-core';
import { inBrowser, Scene, part } from '../harness/inBrowser';
import type { Portal } from '../harness/Portal';
import type { Visitor } from '../harness/Visitor';

const HEADER = {
  i: 'header',
  x: 0,
  y: 0,
  w: 12,
  h: 2,
  component: 'header',
  props: { title: 'Welcome', level: 2 },
};
const TEXT = {
  i: 'text',
  x: 0,
  y: 2,
  w: 6,
  h: 3,
  component: 'text',
  props: { text: 'Our old page' },
};

const SECTION = {
  i: 'section',
  x: 0,
  y: 2,
  w: 12,
  h: 6,
  component: 'container-section',
  props: { title: 'Section', items: [] },
};

const ANNA = { at: 'acme', as: 'anna' } as const;
const PHONE = { width: 360, height: 740 };

/** Laying out pages, and what becomes of the work. */
export function testMockups(): void {
  part('mockups', () => {
    inBrowser(
      'a page is laid out by dragging, saved, compared and restored',
      async scene => {
        const { visitor, page } = await openMockup(scene, { versions: [] });
        await addByDragging(page, 'Header', { x: 200, y: 60 });
        await item(page, /^Header.*column 1, row \d/).waitFor();
        await save(page);
        await visitor.untilQuiet();
        await page.reload();

        await item(page, /^Header/).waitFor();
        await addByDragging(page, 'Button', { x: 500, y: 200 });
        await item(page, /^Button/).waitFor();
        await save(page);

        await page.getByRole('link', { name: 'Versions' }).click();
        const choices = page.getByRole('checkbox');
        await choices.nth(1).waitFor();
        await chooseVersion(choices.nth(0));
        await chooseVersion(choices.nth(1));
        await page.getByRole('button', { name: 'Compare' }).click();
        await page.getByText('1 difference', { exact: true }).waitFor();
        await page.getByText(/Added at column \d+, row \d+/).waitFor();
        await visitor.expectAccessible();
        // Paper does not scroll.
        await page.setViewportSize({ width: 1280, height: 200 });
        await page.emulateMedia({ media: 'print' });
        const drawings = page.getByRole('group', {
          name: 'The drawings of both',
        });
        expect(
          await drawings.evaluate(it => it.scrollHeight - it.clientHeight),
        ).toBe(0);
        await page.emulateMedia({ media: 'screen' });
        await page.setViewportSize({ width: 1280, height: 800 });

        await page.getByRole('link', { name: 'All versions' }).click();
        await page.getByRole('button', { name: /^Restore/ }).click();
        await visitor.expectAccessibleAsIs();
        await page
          .getByRole('dialog')
          .getByRole('button', { name: 'Restore', exact: true })
          .click();
        await page.getByText(/was restored as a new version/).waitFor();
        await page.getByText('3 of 3 versions').waitFor();
        await visitor.expectAccessible();

        await page.getByRole('link', { name: 'Open in the editor' }).click();
        await item(page, /^Header/).waitFor();
        await visitor.untilQuiet();
        expect(await item(page, /^Button/).count()).toBe(0);
      },
    );

    inBrowser(
      'the second of two people who save sees what the first has changed',
      async scene => {
        const first = await openMockup(scene, { versions: [[HEADER]] });
        const { path } = first;
        // A browser of its own.
        const second = await scene.visit({ ...ANNA, width: 1300 });
        second.traffic.expect(['acme']);
        await second.open(path);
        await item(second.page, /^Header/).waitFor();

        await add(first.page, 'Text');
        await save(first.page);
        await add(second.page, 'Button');
        second.expectProblem(/status of 412/);
        await second.page
          .getByRole('button', { name: 'Save', exact: true })
          .click();
        const dialog = second.page.getByRole('dialog');
        await dialog.getByText('Somebody has changed').waitFor();
        await dialog.getByText(/Text.*: Added at/).waitFor();
        await second.expectAccessibleAsIs();
        await dialog.getByRole('button', { name: 'Merge' }).click();
        await dialog.waitFor({ state: 'detached' });
        for (const name of [/^Header/, /^Text/, /^Button/]) {
          await item(second.page, name).waitFor();
        }
        await save(second.page);
      },
    );

    inBrowser(
      'the controls stay in sight while a long page is scrolled',
      async scene => {
        const { visitor, page } = await openMockup(scene, {
          versions: [[HEADER, { ...TEXT, y: 120 }]],
        });
        for (const width of [1300, 390]) {
          await page.setViewportSize({ width, height: 740 });
          await item(page, /^Text/).scrollIntoViewIfNeeded();
          const toolbar = page.getByRole('toolbar', { name: 'Actions' });
          for (const control of [
            toolbar.getByRole('button', { name: 'Undo' }),
            page.getByRole('button', { name: 'Save', exact: true }),
            page.getByText('All changes are saved.'),
          ]) {
            // Nothing of the portal lies over it.
            const isInSight = await control.evaluate(element => {
              const {
                x,
                y,
                width: w,
                height: h,
              } = element.getBoundingClientRect();
              return element.contains(
                document.elementFromPoint(x + w / 2, y + h / 2),
              );
            });
            expect(isInSight).toBe(true);
          }
        }
        await visitor.expectAccessible();
      },
    );

    inBrowser('the work outlives a crash of the page', async scene => {
      const { visitor, page, path } = await openMockup(scene, {
        versions: [[HEADER]],
      });
      await add(page, 'Text');
      await page.waitForFunction(() =>
        JSON.stringify(localStorage).includes('Text of the page.'),
      );
      await visitor.crash();

      await visitor.page.goto(path);
      const dialog = visitor.page.getByRole('dialog');
      await dialog.getByText(/Text.*: Added at/).waitFor();
      await visitor.expectAccessibleAsIs();
      // There is no way around an answer.
      expect(await dialog.getByRole('button').allInnerTexts()).toEqual([
        'Discard the draft',
        'Continue with the draft',
      ]);
      await dialog
        .getByRole('button', { name: 'Continue with the draft' })
        .click();
      await item(visitor.page, /^Text/).waitFor();
      await save(visitor.page);
    });

    inBrowser('a page is laid out by the keyboard alone', async scene => {
      const { visitor, page } = await openMockup(scene, {
        versions: [[HEADER]],
      });
      const { keyboard } = page;
      await visitor.tabTo(page.getByRole('button', { name: 'Add Header' }));
      for (const name of ['Add Text', 'Add Image', 'Add Button']) {
        await keyboard.press('ArrowDown');
        await page.locator(':focus').and(page.getByLabel(name)).waitFor();
      }
      await keyboard.press('Enter');
      await item(page, /^Button.*column 1, row 3/).waitFor();
      await keyboard.press('ArrowRight');
      const moved = item(page, /^Button.*column 2, row 3/);
      const label = await moved.getAttribute('aria-label');
      const width = Number(/(\d+) wide/.exec(label ?? '')?.[1]);
      await keyboard.press('Shift+ArrowRight');
      const wider = new RegExp(`^Button.*column 2, row 3, ${width + 1} wide`);
      await item(page, wider).waitFor();
      await keyboard.press('Control+s');
      await page.getByText('All changes are saved.').waitFor();

      await visitor.tabTo(page.getByRole('link', { name: 'Versions' }));
      await keyboard.press('Enter');
      const choices = page.getByRole('checkbox');
      await choices.nth(1).waitFor();
      for (const choice of [choices.nth(0), choices.nth(1)]) {
        await visitor.tabTo(choice);
        await keyboard.press('Space');
      }
      await page.getByText('Two versions are chosen.').waitFor();
      await visitor.tabTo(page.getByRole('button', { name: 'Compare' }));
      await keyboard.press('Enter');
      await visitor.tabTo(
        page.getByRole('button', { name: 'Next difference' }),
      );
      await keyboard.press('Enter');
      await page
        .getByRole('status')
        .filter({ hasText: /^Difference 1 of 1: Button.*Added at column 2/ })
        .waitFor();
    });

    inBrowser(
      'an item is dragged into a container, and out of it',
      async scene => {
        const { page } = await openMockup(scene, {
          versions: [[HEADER, SECTION]],
        });
        await drag(page, item(page, /^Header/), item(page, /^Section/));
        await item(page, /^Header/).waitFor({ state: 'detached' });
        await page
          .getByRole('button', { name: 'Add Button' })
          .dragTo(item(page, /^Section/));
        await page.getByText(/^Added Button .* to Section/).waitFor();
        await item(page, /^Section/).dblclick();
        await item(page, /^Button/).waitFor();
        const levels = page.getByRole('navigation', { name: 'Where you are' });
        await drag(page, item(page, /^Header/), levels.getByText('Page'));
        await levels.waitFor({ state: 'detached' });
        await item(page, /^Header.*row 9,/).waitFor();
        await save(page);
      },
    );

    inBrowser('a deleted mockup is undone, and restored', async scene => {
      const path = await createMockup(scene.portal, [[TEXT]], 'Winter sale');
      const visitor = await scene.visit(ANNA);
      visitor.traffic.expect(['acme']);
      const { page } = visitor;
      await visitor.open('/mockups');
      const moveToTrash = async () => {
        await page
          .getByRole('button', { name: 'Actions of Winter sale' })
          .click();
        await page.getByRole('menuitem', { name: 'Move to the trash' }).click();
        await page.getByText('“Winter sale” is in the trash.').waitFor();
      };
      const mockup = page.getByRole('link', { name: 'Winter sale' });
      await moveToTrash();
      await mockup.waitFor({ state: 'detached' });
      await visitor.expectAccessibleAsIs();
      await page.getByRole('button', { name: 'Undo' }).click();
      await mockup.waitFor();
      await moveToTrash();

      await page.getByRole('link', { name: 'Trash' }).click();
      const restore = page.getByRole('button', {
        name: 'Restore Winter sale',
      });
      await restore.waitFor();
      await visitor.expectAccessible(() => restore.waitFor());
      await restore.click();
      await page
        .getByText('“Winter sale” is back, with all of its versions.')
        .waitFor();
      await visitor.open(`${path}/versions`);
      await page.getByText('1 of 1 versions').waitFor();
    });

    inBrowser(
      'a file with a mistake is refused with its place',
      async scene => {
        const visitor = await scene.visit(ANNA);
        visitor.traffic.expect(['acme']);
        const { page } = visitor;
        await createMockup(scene.portal, [[TEXT], [HEADER]], 'To be exported');
        await visitor.open('/mockups');
        await page
          .getByRole('button', { name: 'Actions of To be exported' })
          .click();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('menuitem', { name: 'Export as a file' }).click(),
        ]);
        const file = JSON.parse(await readFile(await download.path(), 'utf8'));
        const [exported] = file.mockups;
        exported.name = 'Imported';

        const importFile = async (content: object) => {
          await page.getByRole('button', { name: 'More actions' }).click();
          await page.getByRole('menuitem', { name: 'Import a file' }).click();
          await page.getByLabel('File').setInputFiles({
            name: 'mockups.json',
            mimeType: 'application/json',
            buffer: Buffer.from(JSON.stringify(content)),
          });
          await page
            .getByRole('button', { name: 'Import', exact: true })
            .click();
        };
        visitor.expectProblem(/status of 400/);
        const [version] = exported.versions;
        const wrong = [{ ...version.layoutData[0], w: 0 }];
        await importFile({
          ...file,
          mockups: [
            exported,
            { ...exported, versions: [{ ...version, layoutData: wrong }] },
          ],
        });
        const dialog = page.getByRole('dialog');
        await dialog.getByText(/mockups\W+1\W+versions\W+0.*\bw\b/).waitFor();
        await visitor.expectAccessibleAsIs();
        await dialog.getByRole('button', { name: 'Cancel' }).click();
        await visitor.untilQuiet();
        expect(await page.getByRole('link', { name: 'Imported' }).count()).toBe(
          0,
        );

        await importFile(file);
        await page.getByText('Mockups in it: 1.').waitFor();
        await page.getByRole('link', { name: 'Imported' }).waitFor();
      },
    );

    inBrowser(
      'the page of an entity shows the mockups that it names',
      async ({ portal, visit }) => {
        const path = await createMockup(portal, [[HEADER, TEXT]], 'Van map');
        const foreign = (await portal.call('peter', 'mockup/mockups', {
          method: 'POST',
          tenant: 'initech',
          body: { name: 'Printer map' },
        })) as { id: string };
        const target = portal.sources.serveComponent('/map.yaml', 'van-map', {
          'mockup.backstage.io/mockups': [
            path.split('/')[2],
            foreign.id,
          ].join(),
        });
        await portal.call('guest', 'catalog/locations', {
          method: 'POST',
          tenant: 'acme',
          body: { type: 'url', target },
        });
        await portal.untilServed('acme', 'van-map');
        const visitor = await visit(ANNA);
        visitor.traffic.expect(['acme']);
        visitor.expectProblem(/status of 404 .*\/mockups\//);
        const { page } = visitor;
        await visitor.open('/catalog/default/component/van-map');
        // The navigation has a link of this name too.
        await page.locator('a[href$="/van-map/mockups"]').click();
        const mockup = page.getByRole('link', { name: 'Van map' });
        await mockup.waitFor();
        await page.getByText(`There is no mockup ${foreign.id}`).waitFor();
        await visitor.expectAccessible(() => mockup.waitFor());
        expect(await page.getByText('Printer map').count()).toBe(0);
        await mockup.click();
        await item(page, /^Header/).waitFor();
      },
    );

    inBrowser('the editor fits a phone, and has no barriers', async scene => {
      const { visitor } = await openMockup(
        scene,
        { versions: [[HEADER, TEXT]] },
        PHONE,
      );
      await visitor.expectNoSidewaysScroll();
      await visitor.expectAccessible();
    });

    inBrowser('the history fits a phone, and has no barriers', async scene => {
      const { portal, visit } = scene;
      const props = {
        title: 'Golden paths for everybody',
        subtitle: 'How we build',
      };
      const header = { ...HEADER, props };
      const path = await createMockup(
        portal,
        [[header, TEXT], [header]],
        'Start page of the department of logistics',
      );
      const versions = (await portal.call('anna', `mockup${path}/versions`, {
        tenant: 'acme',
      })) as { id: string }[];
      const [newer, older] = versions.map(({ id }) => id);
      const visitor = await visit({ ...ANNA, ...PHONE });
      const { page } = visitor;
      const shown: [string, Locator][] = [
        ['', page.getByText('2 of 2 versions')],
        [`/${older}`, page.getByText('Our old page')],
        [`/${older}/compare/${newer}`, page.getByText('Removed from')],
      ];
      for (const [below, whatIsShown] of shown) {
        await visitor.open(`${path}/versions${below}`);
        await whatIsShown.first().waitFor();
        await visitor.expectNoSidewaysScroll();
        const title = page.getByRole('heading', { level: 2 }).first();
        expect(
          await title.evaluate(it => it.scrollWidth - it.clientWidth),
        ).toBe(0);
        const place = page.getByText('Versions', { exact: true }).first();
        expect(
          await place.evaluate(it => it.scrollWidth - it.clientWidth),
        ).toBe(0);
        const drawn = page.locator('[data-item=header] [data-grows]');
        for (const each of await drawn.all()) {
          expect(
            await each.evaluate(it => it.scrollHeight - it.clientHeight),
          ).toBe(0);
        }
        await visitor.expectAccessible();
      }
    });
  });
}

/** A mockup of Anna's with these versions, and Anna in its editor. */
export async function openMockup(
  { portal, visit }: Scene,
  { versions }: { versions: object[][] },
  size: { width?: number; height?: number } = {},
): Promise<{ visitor: Visitor; page: Page; path: string }> {
  const path = await createMockup(portal, versions);
  const visitor = await visit({ ...ANNA, ...size });
  visitor.traffic.expect(['acme']);
  await visitor.open(path);
  await visitor.page.getByRole('listbox', { name: 'Canvas' }).waitFor();
  return { visitor, page: visitor.page, path };
}

async function createMockup(
  portal: Portal,
  versions: object[][],
  name = 'Start page',
): Promise<string> {
  const options = { method: 'POST', tenant: 'acme' };
  const { id } = (await portal.call('anna', 'mockup/mockups', {
    ...options,
    body: { name },
  })) as { id: string };
  const path = `/mockups/${id}`;
  for (const layoutData of versions) {
    await portal.call('anna', `mockup${path}/versions`, {
      ...options,
      body: { layoutData },
    });
  }
  return path;
}

/** An item on the canvas, by what is read out of it. */
export function item(page: Page, name: RegExp): Locator {
  return page
    .getByRole('listbox', { name: 'Canvas' })
    .getByRole('option', { name });
}

export async function add(page: Page, component: string): Promise<void> {
  await page.getByRole('button', { name: `Add ${component}` }).click();
  await item(page, new RegExp(`^${component}`)).waitFor();
}

async function addByDragging(
  page: Page,
  component: string,
  targetPosition: { x: number; y: number },
): Promise<void> {
  await page
    .getByRole('button', { name: `Add ${component}` })
    .dragTo(page.getByRole('listbox', { name: 'Canvas' }), { targetPosition });
}

/** Presses an item near its corner, and lets go of it in the middle of something. */
async function drag(page: Page, from: Locator, to: Locator): Promise<void> {
  const pressed = (await from.boundingBox())!;
  const target = (await to.boundingBox())!;
  await page.mouse.move(pressed.x + 20, pressed.y + 20);
  await page.mouse.down();
  await page.mouse.move(
    target.x + target.width / 2,
    target.y + target.height / 2,
    { steps: 5 },
  );
  await page.mouse.up();
}

export async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('All changes are saved.').waitFor();
}

/** The box itself is not seen: what is drawn belongs to its label. */
async function chooseVersion(choice: Locator): Promise<void> {
  await choice.check({ force: true });
}
