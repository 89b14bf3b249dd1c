import type { OpenTenant } from 'backstage-plugin-tenants-common';

const KEY = 'backstage-plugin-tenants.open';

/** Of which user and page an answer is. */
interface Asked {
  user: string;
  /** What the page sends as `X-Tenant-Slug`. */
  slug: string | undefined;
}

/**
 * What the portal last said to this user of the tenant that this page names: the page shows it
 * while it asks again. It decides nothing: the backend lets in whom it lets in.
 */
export function rememberedTenant(asked: Asked): OpenTenant | undefined {
  try {
    const kept = JSON.parse(window.localStorage.getItem(KEY) ?? 'null');
    return kept?.user === asked.user && kept.slug === asked.slug
      ? kept.tenant
      : undefined;
  } catch {
    // A browser without storage, or something else under this name.
    return undefined;
  }
}

/** Keeps an answer; nothing where the page is to show none without asking. */
export function rememberTenant(
  asked: Asked,
  tenant: OpenTenant | undefined,
): void {
  try {
    if (tenant) {
      const text = JSON.stringify({ ...asked, tenant });
      window.localStorage.setItem(KEY, text);
    } else {
      window.localStorage.removeItem(KEY);
    }
  } catch {
    // Some browsers have no storage for some sites: the next page asks first.
  }
}

const LONGEST_MS = 3_000;

/**
 * Resolves once the page has got something from the backend, so that nothing that it shows
 * first waits for what is asked then.
 */
export function whenPageHasAnswers(): Promise<void> {
  if (typeof PerformanceObserver === 'undefined') {
    return Promise.resolve();
  }
  return new Promise(resolve => {
    const observer = new PerformanceObserver(list => {
      const paths = list.getEntries().map(({ name }) => new URL(name).pathname);
      if (paths.some(path => /\/api\/(?!auth\/|app\/)/.test(path))) {
        end();
      }
    });
    const timer = setTimeout(end, LONGEST_MS);
    function end() {
      clearTimeout(timer);
      observer.disconnect();
      resolve();
    }
    observer.observe({ type: 'resource', buffered: true });
  });
}
