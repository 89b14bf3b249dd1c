import {
  type BackstageCredentials,
  type UserInfoService,
} from '@backstage/backend-plugin-api';
import { ConflictError, InputError, NotAllowedError } from '@backstage/errors';
import { carriedRole } from 'backstage-plugin-catalog-tenancy-node';
import {
  countQueries,
  type LayoutItem,
  MOCKUP_LIMITS,
  mockupPageHomePermission,
  mockupPagePublishPermission,
  mockupReadPermission,
  type PageAudience,
  type PublishedPage,
  type PublishedPageWithLayout,
  type PublishPageRequest,
} from 'backstage-plugin-mockup-common';
import { PreconditionFailedError } from 'backstage-plugin-mockup-node';
import { both, type MockupDecisions } from '../authorization/MockupDecisions';
import type { PageReader, PageStore } from './PageStore';

const ROLES = ['viewer', 'member', 'admin'] as const;

/** The pages of a tenant as one caller may see and change them. */
export class AuthorizedPages {
  constructor(
    private readonly options: {
      store: PageStore;
      decisions: MockupDecisions;
      userInfo: UserInfoService;
      credentials: BackstageCredentials;
    },
  ) {}

  async list(): Promise<PublishedPage[]> {
    return this.options.store.list(await this.#reader());
  }

  async get(path: string): Promise<PublishedPageWithLayout | undefined> {
    return this.options.store.get(path, await this.#reader());
  }

  async getHome(): Promise<PublishedPageWithLayout | undefined> {
    return this.options.store.getHome(await this.#reader());
  }

  /** The pages of a mockup that the caller may read. */
  async listOf(mockupId: string): Promise<PublishedPage[]> {
    const [read, publish] = await this.options.decisions.on(
      mockupReadPermission,
      mockupPagePublishPermission,
    );
    return this.options.store.listOf(mockupId, read.filter, publish.filter);
  }

  /**
   * @param demands - of whether there is a page, also one that the caller does not see
   * @returns undefined if there is no such version for the caller
   * @throws PreconditionFailedError by `demands`
   * @throws NotAllowedError if the caller may see the mockup, but not publish it or choose a home
   * @throws ConflictError if the path is taken by another mockup, there are too many pages, or the
   * version has to be reviewed first
   * @throws InputError for a new page without an audience, a role in a tenant without roles, and a
   * version with too many queries
   */
  async publish(
    path: string,
    request: PublishPageRequest,
    user: string,
    demands: boolean[] = [],
  ): Promise<PublishedPage | undefined> {
    const { store, decisions, credentials } = this.options;
    const { mockupId, versionId } = request;
    const [read, publish] = await decisions.on(
      mockupReadPermission,
      mockupPagePublishPermission,
    );
    const allowed = both(read, publish).filter;
    const layout = await store.layoutOf(request, allowed);
    if (!layout) {
      if (await store.layoutOf(request, read.filter)) {
        throw new NotAllowedError(
          `You may not publish the mockup '${mockupId}'`,
        );
      }
      return undefined;
    }
    refuseTooManyQueries(layout);
    if (
      request.audience?.startsWith('role:') &&
      (await carriedRole(credentials)) === undefined
    ) {
      throw new InputError(
        `Nobody has a role in this tenant, got the audience '${request.audience}'. Publish the page for everybody or a group`,
      );
    }
    const mayChooseHome =
      request.home !== false && (await decisions.may(mockupPageHomePermission));
    const published = await store.publish(path, request, {
      user,
      allowed,
      mayChooseHome,
      demands,
    });
    if (published || !(await store.layoutOf(request, allowed))) {
      return published;
    }
    const now = await store.mockupAt(path);
    if (demands.includes(now === undefined)) {
      throw new PreconditionFailedError(
        `If-Match or If-None-Match forbids this, by whether there is a page at '${path}'`,
      );
    }
    if (now !== undefined && now !== mockupId.toLowerCase()) {
      throw new ConflictError(
        `The path '${path}' has the page of another mockup. Choose another path, or unpublish that page first`,
      );
    }
    if (!(await store.isReviewed(versionId))) {
      throw new ConflictError(
        `The version '${versionId}' has not been reviewed. Ask somebody other than its author to mark it as ready first`,
      );
    }
    if (request.audience === undefined && now === undefined) {
      throw new InputError(
        'Invalid request body: audience must be given for a new page',
      );
    }
    if ((request.home || now !== undefined) && !mayChooseHome) {
      throw new NotAllowedError(
        'You may not choose the home page. Publish the page with "home": false, or ask an admin of the tenant',
      );
    }
    throw new ConflictError(
      `There are ${MOCKUP_LIMITS.pages} pages already, the most allowed. Unpublish another one first`,
    );
  }

  /**
   * @returns false if there is no such page for the caller
   * @throws NotAllowedError if the caller may see the page, but not publish its mockup
   */
  async takeBack(path: string): Promise<boolean> {
    const [read, publish] = await this.options.decisions.on(
      mockupReadPermission,
      mockupPagePublishPermission,
    );
    const { store } = this.options;
    const allowed = both(read, publish).filter;
    if (await store.takeBack(path, allowed)) {
      return true;
    }
    const reader = await this.#reader();
    if (
      (await store.isThere(path, reader, read.filter)) &&
      // Otherwise it was published only now.
      !(await store.isThere(path, { audiences: [] }, allowed))
    ) {
      throw new NotAllowedError(`You may not unpublish the page '${path}'`);
    }
    return false;
  }

  async #reader(): Promise<PageReader> {
    const [audiences, [publish]] = await Promise.all([
      this.#audiences(),
      this.options.decisions.on(mockupPagePublishPermission),
    ]);
    const { principal } = this.options.credentials as BackstageCredentials<{
      userEntityRef?: string;
    }>;
    return {
      audiences,
      user: principal.userEntityRef,
      mayPublish: publish.filter,
    };
  }

  /** The audiences of the caller; a service belongs to no group. */
  async #audiences(): Promise<PageAudience[]> {
    const refs = await this.#ownershipRefs();
    const role = await carriedRole(this.options.credentials);
    const roles = role ? ROLES.slice(0, ROLES.indexOf(role) + 1) : [];
    return [
      'everybody',
      ...refs
        .map(ref => ref.toLocaleLowerCase('en-US'))
        .filter((ref): ref is `group:${string}` => ref.startsWith('group:')),
      ...roles.map(each => `role:${each}` as const),
    ];
  }

  /** The caller's ownership refs; in a tenant, those of the tenant's catalog. */
  async #ownershipRefs(): Promise<string[]> {
    const { principal } = this.options.credentials as BackstageCredentials<{
      type?: string;
    }>;
    if (principal.type !== 'user') {
      return [];
    }
    try {
      const info = await this.options.userInfo.getUserInfo(
        this.options.credentials,
      );
      return info.ownershipEntityRefs;
    } catch (error) {
      // The auth plugin knows only users that it signed in itself.
      if ((error as { statusCode?: number }).statusCode === 404) {
        return [];
      }
      throw error;
    }
  }
}

/** Also applies to versions saved before this limit existed. */
function refuseTooManyQueries(layout: LayoutItem[]): void {
  const queries = countQueries(layout);
  if (queries > MOCKUP_LIMITS.layoutQueries) {
    throw new InputError(
      `The live components of this version have ${queries} different queries. Expected at most ${MOCKUP_LIMITS.layoutQueries}: split it into several pages`,
    );
  }
}
