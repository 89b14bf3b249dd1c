import { writeFileSync } from 'fs';
import { join } from 'path';
import type { BrowserContext, Locator, Page, Request } from 'playwright-core';
import { waitUntil } from '@internal/postgres/testUtils';
import { violationsInThemes, violationsOf } from './accessibility';
import { foreignData } from './foreignData';
import { evidenceFolder, User } from './Portal';
import { Traffic } from './Traffic';

// Longer than anything takes on a machine that does something else too.
export const PATIENCE_MS = Number(process.env.TEST_DEADLINE_MS ?? 60_000);

/** What the page that asks who one is calls the users. */
export const SIGN_IN: Record<User, RegExp> = {
  anna: /^Anna/,
  peter: /^Peter/,
  guest: /^Administrator/,
};

/** Somebody in front of a page of the portal, and what goes wrong there. */
export class Visitor {
  readonly traffic = new Traffic();

  readonly #pages: Page[] = [];
  readonly #underWay = new Set<Request>();
  /** What must not be, such as errors in the console, as it was seen. */
  readonly #problems: string[] = [];
  readonly #expected: RegExp[] = [];
  readonly #log: string[] = [];
  readonly #context: BrowserContext;

  static async enter(context: BrowserContext): Promise<Visitor> {
    const visitor = new Visitor(context);
    await visitor.openPage();
    return visitor;
  }

  private constructor(context: BrowserContext) {
    this.#context = context;
  }

  get page(): Page {
    return this.#pages[0];
  }

  /** Another page of the same browser. */
  async openPage(): Promise<Page> {
    const page = await this.#context.newPage();
    this.#pages.push(page);
    this.#keepLog(page);
    await this.traffic.watch(page, url => {
      for (const request of this.#underWay) {
        if (request.url() === url) {
          this.#underWay.delete(request);
        }
      }
    });
    return page;
  }

  /** Has the page die, as it would without memory, and opens another one. */
  async crash(): Promise<void> {
    const [page] = this.#pages.splice(0, 1);
    const session = await this.#context.newCDPSession(page);
    const died = page.waitForEvent('crash');
    // It never answers.
    session.send('Page.crash').catch(() => {});
    await died;
    this.#underWay.clear();
    await page.close();
    await this.openPage();
  }

  #keepLog(page: Page): void {
    page.on('console', message => {
      const { url } = message.location();
      const line = `console.${message.type()}: ${message.text()} (${url})`;
      this.#log.push(line);
      if (message.type() === 'error') {
        this.#problems.push(line);
      }
    });
    page.on('pageerror', error => {
      this.#log.push(`uncaught: ${error.stack}`);
      this.#problems.push(`uncaught: ${error.message}`);
    });
    let isLeft = false;
    page.on('request', request => {
      if (request.isNavigationRequest()) {
        // The browser gives up what the page has asked for that is left, and asks for until
        // the next one answers. It does not tell so each time.
        this.#underWay.clear();
        isLeft = true;
      } else if (isLeft) {
        return;
      }
      this.#underWay.add(request);
    });
    page.on('requestfinished', request => this.#underWay.delete(request));
    page.on('requestfailed', request => {
      this.#underWay.delete(request);
      if (request.isNavigationRequest()) {
        isLeft = false;
      }
      const { errorText } = request.failure() ?? {};
      this.#log.push(`${errorText} ${request.method()} ${request.url()}`);
    });
    page.on('response', response => {
      if (response.request().isNavigationRequest()) {
        isLeft = false;
      }
      const line = `${response.status()} ${response
        .request()
        .method()} ${response.url()}`;
      this.#log.push(line);
      if (response.status() >= 500) {
        this.#problems.push(line);
      }
    });
  }

  /** Lets the console and the answers have errors that the test is about. */
  expectProblem(...patterns: RegExp[]): void {
    this.#expected.push(...patterns);
  }

  /** Signs in on the page that asks for it. */
  async signIn(user: User, path = '/'): Promise<void> {
    await this.page.goto(path);
    const button = this.page.getByRole('button', { name: SIGN_IN[user] });
    await button.click();
    await button.waitFor({ state: 'detached' });
  }

  /** The button that says which tenant is open, and opens the list of the others. */
  get switcher(): Locator {
    return this.page.getByRole('button', { name: 'Open another tenant' });
  }

  /** The same, or the name alone where there is no other. */
  get tenantName(): Locator {
    return this.page.getByLabel(/^Tenant \S/).first();
  }

  /** Goes to another tenant as people do. */
  async switchTo(name: string): Promise<void> {
    await this.untilQuiet();
    await this.switcher.click();
    await this.page.getByRole('option', { name }).click();
  }

  /** Presses Tab until something has the focus. */
  async tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let pressed = 0; pressed < 100; pressed += 1) {
      if (await target.evaluate(it => it === document.activeElement)) {
        return;
      }
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`The key Tab does not reach ${target}`);
  }

  /** Opens a page, once what was asked for by the last one has arrived. */
  async open(path: string): Promise<void> {
    await this.untilQuiet();
    await this.page.goto(path);
  }

  /** Waits until the page has, and has drawn, all that it has asked for. */
  async untilQuiet(): Promise<void> {
    const isQuiet = async () => {
      const asked = this.#log.length;
      const isDrawn = await this.page
        .evaluate(
          () =>
            new Promise(resolve => {
              requestAnimationFrame(() => requestAnimationFrame(resolve));
            }),
        )
        .then(
          () => true,
          // Another page is being opened.
          () => false,
        );
      return (
        isDrawn &&
        this.#underWay.size === 0 &&
        asked === this.#log.length &&
        (await this.page
          .locator('[role=progressbar], [role=status] > .bui-Skeleton')
          .count()) === 0
      );
    };
    try {
      await waitUntil('all that the page has asked for', isQuiet, {
        withinMs: PATIENCE_MS,
      });
    } catch (error) {
      const left = [...this.#underWay].map(request => request.url());
      this.#log.push(`still under way: ${left.join(', ') || 'no request'}`);
      throw error;
    }
  }

  /** What went wrong so far. */
  complaints(): string[] {
    const unexpected = this.#problems.filter(
      problem => !this.#expected.some(pattern => pattern.test(problem)),
    );
    return [...unexpected, ...this.traffic.mixUps];
  }

  /** The page shows nothing of another tenant. */
  async expectNothingForeign(tenant: string): Promise<void> {
    const shown = await this.page.locator('body').first().innerText();
    expect(foreignData(shown, [tenant])).toBeUndefined();
  }

  /**
   * The page has no serious barrier, in the theme that it has and, loaded again, in the other one,
   * in which it stays.
   *
   * @param look - waits for what is seen in the end
   */
  async expectAccessible(look = async () => {}): Promise<void> {
    await this.untilQuiet();
    const untilShown = async () => {
      await look();
      await this.untilQuiet();
    };
    expect(await violationsInThemes(this.page, untilShown)).toEqual([]);
  }

  /** The same for what is open in the page now, such as a dialog. */
  async expectAccessibleAsIs(): Promise<void> {
    await this.untilQuiet();
    expect(await violationsOf(this.page)).toEqual([]);
  }

  /** Nothing of the page is beside the window, which one would have to scroll to. */
  async expectNoSidewaysScroll(): Promise<void> {
    await this.untilQuiet();
    expect(
      await this.page.evaluate(
        () =>
          document.documentElement.scrollWidth -
          document.documentElement.clientWidth,
      ),
    ).toBe(0);
  }

  /** Keeps what can be seen, and says where. */
  async keepEvidence(name: string): Promise<string[]> {
    const base = join(
      evidenceFolder(),
      name.replace(/\W+/g, '-').slice(0, 100),
    );
    writeFileSync(`${base}.txt`, this.#log.join('\n'));
    const pictures = this.#pages.map((_, index) => `${base}-${index + 1}.png`);
    await Promise.all(
      this.#pages.map((page, index) =>
        page
          .screenshot({ path: pictures[index], timeout: 5_000 })
          .catch(() => {}),
      ),
    );
    return [`${base}.txt`, ...pictures];
  }

  async leave(): Promise<void> {
    await Promise.all(this.#pages.map(page => page.close()));
  }
}
