import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import { ConflictError, NotAllowedError } from '@backstage/errors';
import { carriedRole } from 'backstage-plugin-catalog-tenancy-node';
import {
  type CreateCommentRequest,
  MOCKUP_LIMITS,
  type MockupComment,
  mockupDeletePermission,
  mockupReadPermission,
  type MockupReview,
  mockupReviewPermission,
  mockupReviewRequirePermission,
  type MockupSettings,
  mockupUpdatePermission,
  type ReadyVersion,
} from 'backstage-plugin-mockup-common';
import { both, type MockupDecisions } from '../authorization/MockupDecisions';
import type { CommentOf, ReviewStore, VersionOf } from './ReviewStore';

/** The reviews of a tenant's mockups as one caller may see and change them. */
export class AuthorizedReview {
  readonly #store: ReviewStore;
  readonly #decisions: MockupDecisions;
  readonly #credentials: BackstageCredentials;

  constructor(options: {
    store: ReviewStore;
    decisions: MockupDecisions;
    credentials: BackstageCredentials;
  }) {
    this.#store = options.store;
    this.#decisions = options.decisions;
    this.#credentials = options.credentials;
  }

  /** Undefined if there is no such mockup for the caller. */
  async listComments(mockupId: string): Promise<MockupComment[] | undefined> {
    const allowed = await this.#readable();
    return (await this.#store.hasMockup(mockupId, allowed))
      ? this.#store.listComments(mockupId, allowed)
      : undefined;
  }

  /**
   * @returns undefined if there is no such mockup for the caller
   * @throws ConflictError if the mockup has as many comments as it may
   */
  async createComment(
    mockupId: string,
    request: CreateCommentRequest,
    options: { author: string; idempotencyKey?: string },
  ): Promise<MockupComment | undefined> {
    const allowed = await this.#readable();
    const comment = await this.#store.createComment(mockupId, request, {
      ...options,
      allowed,
    });
    if (comment || !(await this.#store.hasMockup(mockupId, allowed))) {
      return comment;
    }
    throw new ConflictError(
      `The mockup '${mockupId}' has ${MOCKUP_LIMITS.comments} comments, the most allowed. Delete some of them first`,
    );
  }

  /** Undefined if there is no such comment for the caller. */
  async resolveComment(
    comment: CommentOf,
    resolved: boolean,
    user: string,
  ): Promise<MockupComment | undefined> {
    const allowed = await this.#readable();
    return this.#store.resolveComment(comment, resolved, { user, allowed });
  }

  /**
   * @returns false if there is no such comment for the caller
   * @throws NotAllowedError for another user's comment on a mockup that the caller may not
   * delete, unless the caller is an admin of the tenant
   */
  async deleteComment(comment: CommentOf, user: string): Promise<boolean> {
    const [read, remove] = await this.#decisions.on(
      mockupReadPermission,
      mockupDeletePermission,
    );
    const isAdmin = (await carriedRole(this.#credentials)) === 'admin';
    const allowed = read.filter;
    const mayDelete = isAdmin ? undefined : remove.filter;
    if (
      await this.#store.deleteComment(comment, { user, allowed, mayDelete })
    ) {
      return true;
    }
    if (await this.#store.hasComment(comment, allowed)) {
      throw new NotAllowedError(
        `You may not delete the comment '${comment.id}' of another user`,
      );
    }
    return false;
  }

  /** Undefined if there is no such mockup for the caller. */
  async getReview(mockupId: string): Promise<MockupReview | undefined> {
    const allowed = await this.#readable();
    if (!(await this.#store.hasMockup(mockupId, allowed))) {
      return undefined;
    }
    const [ready, { reviewRequired }] = await Promise.all([
      this.#store.listReady(mockupId, allowed),
      this.#store.getSettings(),
    ]);
    return { isRequired: reviewRequired, ready };
  }

  /**
   * @returns undefined if there is no such version for the caller
   * @throws NotAllowedError if the caller may not review the mockup, or has saved the version
   */
  async markReady(
    version: VersionOf,
    user: string,
  ): Promise<ReadyVersion | undefined> {
    const { allowed, refuse } = await this.#reviewable(version);
    const ready = await this.#store.markReady(version, { user, allowed });
    if (!ready) {
      await refuse();
      if ((await this.#store.authorOf(version, allowed)) === user) {
        throw new NotAllowedError(
          `You have saved the version '${version.versionId}' yourself. Ask somebody else to review it`,
        );
      }
    }
    return ready;
  }

  /**
   * @returns false if there is no such version for the caller, or it is not ready
   * @throws NotAllowedError if the caller may not review the mockup
   */
  async unmarkReady(version: VersionOf): Promise<boolean> {
    const { allowed, refuse } = await this.#reviewable(version);
    const isUnmarked = await this.#store.unmarkReady(version, allowed);
    if (!isUnmarked) {
      await refuse();
    }
    return isUnmarked;
  }

  getSettings(): Promise<MockupSettings> {
    return this.#store.getSettings();
  }

  /** @throws NotAllowedError if the caller may not change settings; in a tenant, only admins may */
  async updateSettings(
    settings: MockupSettings,
    user: string,
  ): Promise<MockupSettings> {
    if (!(await this.#decisions.may(mockupReviewRequirePermission))) {
      throw new NotAllowedError(
        'You may not decide whether pages have to be reviewed. Ask an admin of the tenant',
      );
    }
    await this.#store.updateSettings(settings, user);
    return settings;
  }

  /**
   * Announces that the caller edits a mockup.
   *
   * @returns the other editors; undefined if there is no such mockup for the caller
   * @throws NotAllowedError if the caller may see the mockup, but not change it
   */
  async announceEditor(mockupId: string): Promise<string[] | undefined> {
    const { principal } = this.#credentials as BackstageCredentials<{
      userEntityRef?: string;
    }>;
    const user = principal.userEntityRef;
    const [read, update] = await this.#decisions.on(
      mockupReadPermission,
      mockupUpdatePermission,
    );
    const others =
      user &&
      (await this.#store.announceEditor(mockupId, {
        user,
        allowed: both(read, update).filter,
      }));
    if (!others && (await this.#store.hasMockup(mockupId, read.filter))) {
      throw new NotAllowedError(`You may not update the mockup '${mockupId}'`);
    }
    return others || undefined;
  }

  async #readable() {
    const [read] = await this.#decisions.on(mockupReadPermission);
    return read.filter;
  }

  /**
   * The filter of mockups that the caller may review, and a function that throws for one that
   * the caller may only read.
   */
  async #reviewable(version: VersionOf) {
    const [read, review] = await this.#decisions.on(
      mockupReadPermission,
      mockupReviewPermission,
    );
    const allowed = both(read, review).filter;
    const refuse = async () => {
      if (
        (await this.#store.authorOf(version, allowed)) === undefined &&
        (await this.#store.authorOf(version, read.filter)) !== undefined
      ) {
        throw new NotAllowedError(
          `You may not review the mockup '${version.mockupId}'`,
        );
      }
    };
    return { allowed, refuse };
  }
}
