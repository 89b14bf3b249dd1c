import {
  type LayoutItem,
  MOCKUP_LIMITS,
  type PageAudience,
  type PublishedPage,
  type PublishedPageWithLayout,
  type PublishPageRequest,
} from 'backstage-plugin-mockup-common';
import type { MockupFilter } from 'backstage-plugin-mockup-node';
import type { TenantStatements } from '../database/TenantStatements';
import * as sql from './statements';

/** A reader of pages. */
export interface PageReader {
  /** The audiences that the reader belongs to. */
  audiences: PageAudience[];
  /** The ref of the user; undefined for a service. */
  user?: string;
  /** The mockups that the reader may publish; their pages include details of the publication. */
  mayPublish?: MockupFilter;
}

interface PageRow {
  path: string;
  title: string;
  audience: PageAudience;
  is_home: boolean;
  is_template: boolean;
  mockup_id: string;
  version_id: string;
  version_tag: string | null;
  published_by: string;
  published_at: string;
  may_publish: boolean;
}

type PageRowWithLayout = PageRow & { layout_data: LayoutItem[] };

/** The pages of a tenant on PostgreSQL. It checks no permissions. */
export class PageStore {
  constructor(private readonly statements: TenantStatements) {}

  /** The pages visible to a reader, by path. */
  async list(reader: PageReader): Promise<PublishedPage[]> {
    const rows = await this.statements.query<PageRow>(
      sql.SELECT_PAGES,
      this.#bindingsOf(reader),
    );
    return rows.map(toPage);
  }

  /** The page at a path, if visible to the reader. */
  async get(
    path: string,
    reader: PageReader,
  ): Promise<PublishedPageWithLayout | undefined> {
    const [row] = await this.statements.query<PageRowWithLayout>(
      sql.SELECT_PAGE,
      { ...this.#bindingsOf(reader), path },
    );
    return row && toPageWithLayout(row);
  }

  /** The home page of a reader, if any. */
  async getHome(
    reader: PageReader,
  ): Promise<PublishedPageWithLayout | undefined> {
    const [row] = await this.statements.query<PageRowWithLayout>(
      sql.SELECT_HOME,
      this.#bindingsOf(reader),
    );
    return row && toPageWithLayout(row);
  }

  /** The pages of a mockup for any audience. */
  async listOf(
    mockupId: string,
    allowed: MockupFilter | undefined,
    mayPublish: MockupFilter | undefined,
  ): Promise<PublishedPage[]> {
    const rows = await this.statements.ofMockups<PageRow>(
      sql.SELECT_PAGES_OF_MOCKUP,
      { mockupId, mayPublish: this.statements.condition(mayPublish) },
      allowed,
    );
    return rows.map(toPage);
  }

  /**
   * Publishes a version at a path. Returns undefined if the mockup is not allowed or lacks the
   * version, the version is not reviewed but must be, the path has a page of another mockup, the
   * tenant has as many pages as it may, the page would become a home that the user may not choose, or
   * there is a page, or none, where that must not be.
   */
  async publish(
    path: string,
    request: PublishPageRequest,
    options: {
      user: string;
      allowed: MockupFilter | undefined;
      mayChooseHome: boolean;
      demands?: boolean[];
    },
  ): Promise<PublishedPage | undefined> {
    const { title, audience, home, template } = request;
    const [row] = await this.statements.ofMockupsInTurn<PageRow>(
      // Publications of a tenant count the same pages, and change the same home page.
      'mockup pages',
      sql.PUBLISH_PAGE,
      {
        path,
        title: title ?? null,
        mockupId: request.mockupId,
        versionId: request.versionId,
        audience: audience ?? null,
        home: home ?? null,
        template: template ?? null,
        user: options.user,
        mayChooseHome: options.mayChooseHome,
        demands: options.demands ?? [],
        most: MOCKUP_LIMITS.pages,
      },
      options.allowed,
    );
    return row && toPage(row);
  }

  /** Unpublishes a page. Returns false if there is no page of an allowed mockup at the path. */
  takeBack(path: string, allowed: MockupFilter | undefined): Promise<boolean> {
    return this.statements.someOfMockups(sql.DELETE_PAGE, { path }, allowed);
  }

  /** The layout of a version of an allowed mockup. */
  async layoutOf(
    { mockupId, versionId }: Pick<PublishPageRequest, 'mockupId' | 'versionId'>,
    allowed: MockupFilter | undefined,
  ): Promise<LayoutItem[] | undefined> {
    const row = await this.statements.oneOfMockups<
      Pick<PageRowWithLayout, 'layout_data'>
    >(sql.SELECT_LAYOUT, { mockupId, versionId }, allowed);
    return row?.layout_data;
  }

  /** Whether a version is ready, or the tenant does not require review. */
  async isReviewed(versionId: string): Promise<boolean> {
    const rows = await this.statements.query(sql.SELECT_IS_REVIEWED, {
      versionId,
    });
    return rows.length > 0;
  }

  /** Whether a page at a path is visible to a reader, or belongs to an allowed mockup. */
  isThere(
    path: string,
    reader: PageReader,
    allowed: MockupFilter | undefined,
  ): Promise<boolean> {
    return this.statements.someOfMockups(
      sql.SELECT_PAGE_EXISTS,
      { ...this.#bindingsOf(reader), path },
      allowed,
    );
  }

  /** The mockup of the page at a path, for any audience. */
  async mockupAt(path: string): Promise<string | undefined> {
    const [row] = await this.statements.query<Pick<PageRow, 'mockup_id'>>(
      sql.SELECT_MOCKUP_AT,
      { path },
    );
    return row?.mockup_id;
  }

  #bindingsOf({ audiences, user, mayPublish }: PageReader) {
    return {
      audiences,
      user: user ?? null,
      mayPublish: this.statements.condition(mayPublish),
    };
  }
}

function toPage(row: PageRow): PublishedPage {
  return {
    path: row.path,
    title: row.title,
    ...(row.is_template && { template: true as const }),
    ...(row.may_publish && {
      publication: {
        mockupId: row.mockup_id,
        versionId: row.version_id,
        ...(row.version_tag !== null && { versionTag: row.version_tag }),
        audience: row.audience,
        home: row.is_home,
        publishedBy: row.published_by,
        publishedAt: row.published_at,
      },
    }),
  };
}

function toPageWithLayout(row: PageRowWithLayout): PublishedPageWithLayout {
  return { ...toPage(row), layoutData: row.layout_data };
}
