import { WebStorage } from '@backstage/core-app-api';
import {
  createApiRef,
  type ErrorApi,
  type StorageApi,
} from '@backstage/frontend-plugin-api';

/** Where the browser keeps the slug that was chosen last, for all pages of an origin. */
const KEY = 'backstage-plugin-tenants.tenant';

/**
 * The tenant that this page names in its requests. It is read once: a page that was loaded for
 * one tenant never names another, and to open another one is to load a new page.
 *
 * @public
 */
export interface PageTenant {
  /**
   * What the page sends as `X-Tenant-Slug`; nothing at the hostname of a tenant, and where
   * nothing was chosen.
   */
  readonly slug: string | undefined;

  /** The plugins that the open tenant does not have, once the portal has said so. */
  closedPlugins: readonly string[];

  /** Says that the portal has refused a request of this page, as it refuses non-members. */
  refuse(): void;

  /** Calls the listener at each refusal, until the returned function is called. */
  onRefusal(listener: () => void): () => void;

  /**
   * Calls the listener where another page of this browser has chosen another tenant, until the
   * returned function is called; also where that was before this page was shown again by the
   * browser's button to go back.
   */
  onOther(listener: () => void): () => void;
}

/**
 * The tenant that this page names in its requests.
 *
 * @public
 */
export const pageTenantApiRef = createApiRef<PageTenant>({
  id: 'plugin.tenants.page-tenant',
});

/** As the browser keeps it for all pages of an origin. */
export class BrowserPageTenant implements PageTenant {
  readonly slug: string | undefined;
  closedPlugins: readonly string[] = [];
  readonly #listeners = new Set<() => void>();

  constructor() {
    this.slug = chosenSlug();
  }

  refuse(): void {
    this.#listeners.forEach(listener => listener());
  }

  onRefusal(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Has the pages that are loaded from now on name this tenant, or none.
   *
   * @returns whether the browser keeps it: some have no storage for some sites
   */
  static choose(slug: string | undefined): boolean {
    try {
      if (slug === undefined) {
        window.localStorage.removeItem(KEY);
      } else {
        window.localStorage.setItem(KEY, slug);
      }
    } catch {
      return false;
    }
    return chosenSlug() === slug;
  }

  onOther(listener: () => void): () => void {
    const check = () => {
      if (chosenSlug() !== this.slug) {
        listener();
      }
    };
    const ofStorage = ({ key }: StorageEvent) => {
      // No key where everything was removed.
      if (key === KEY || key === null) {
        check();
      }
    };
    window.addEventListener('storage', ofStorage);
    window.addEventListener('pageshow', check);
    check();
    return () => {
      window.removeEventListener('storage', ofStorage);
      window.removeEventListener('pageshow', check);
    };
  }
}

/**
 * The storage of the browser, a part of it for each tenant: starred entities and the like have
 * names of the tenant in them. What is of the browser itself, such as the theme and the language,
 * Backstage keeps elsewhere. The default tenant has what was kept before there were others.
 */
export function createTenantStorage(options: {
  errorApi: ErrorApi;
  pageTenant: Pick<PageTenant, 'slug'>;
}): StorageApi {
  const { errorApi, pageTenant } = options;
  const { slug = 'default' } = pageTenant;
  return WebStorage.create({
    errorApi,
    namespace: slug === 'default' ? undefined : `tenants/${slug}`,
  });
}

function chosenSlug(): string | undefined {
  try {
    return window.localStorage.getItem(KEY) || undefined;
  } catch {
    return undefined;
  }
}
