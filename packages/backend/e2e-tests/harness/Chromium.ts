import {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  chromium,
} from 'playwright-core';
import { findChromium } from './findChromium';
import type { Portal, User } from './Portal';
import { PATIENCE_MS, Visitor } from './Visitor';

// What moves has no contrast to measure, and makes no picture twice.
const WITHOUT_MOTION =
  '*, *::before, *::after { transition: none !important; animation: none !important; caret-color: transparent !important; }';

export interface VisitOptions {
  /** The tenant whose hostname the visitor comes by; the portal's own by default. */
  at?: string;
  /** Who is signed in; by default nobody, in a browser that was never used. */
  as?: User;
  width?: number;
  height?: number;
}

/** The browser of this machine, used by several people. */
export class Chromium {
  readonly #browser: Browser;
  readonly #portal: Pick<Portal, 'url'>;

  /** What the browsers of those have kept who have signed in: pages, and who they are. */
  readonly #signedIn = new Map<string, Promise<BrowserContext>>();

  static async start(portal: Pick<Portal, 'url'>): Promise<Chromium> {
    const browser = await chromium.launch({
      executablePath: findChromium(),
      // The sandbox needs rights that it must not have as root.
      chromiumSandbox: process.getuid?.() !== 0,
    });
    return new Chromium(browser, portal);
  }

  private constructor(browser: Browser, portal: Pick<Portal, 'url'>) {
    this.#browser = browser;
    this.#portal = portal;
  }

  async visit(options: VisitOptions): Promise<Visitor> {
    if (!options.as) {
      return Visitor.enter(await this.#createContext(options));
    }
    const key = JSON.stringify(options);
    let context = this.#signedIn.get(key);
    if (!context) {
      context = this.#signIn(options, options.as);
      this.#signedIn.set(key, context);
    }
    return Visitor.enter(await context);
  }

  async #signIn(options: VisitOptions, user: User): Promise<BrowserContext> {
    const context = await this.#createContext(options);
    const visitor = await Visitor.enter(context);
    await visitor.signIn(user);
    await visitor.untilQuiet();
    await visitor.leave();
    return context;
  }

  async #createContext(options: VisitOptions): Promise<BrowserContext> {
    const { at, width = 1280, height = 800 } = options;
    const settings: BrowserContextOptions = {
      baseURL: this.#portal.url(at),
      viewport: { width, height },
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
    };
    const context = await this.#browser.newContext(settings);
    context.setDefaultTimeout(PATIENCE_MS);
    await context.addInitScript(css => {
      document.addEventListener('DOMContentLoaded', () => {
        const style = document.createElement('style');
        style.textContent = css;
        document.head.append(style);
      });
    }, WITHOUT_MOTION);
    return context;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
  }
}
