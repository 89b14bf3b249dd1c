import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  LayoutItem,
  PageAudience,
  PublishedPage,
  PublishedPageWithLayout,
  PublishPageRequest,
} from 'backstage-plugin-mockup-common';
import type { MockupFilter } from 'backstage-plugin-mockup-node';
import type { Knex } from 'knex';
import { withMappedErrors } from '../database/errors';
import { conditionOf } from '../database/filter';
import { isUuid } from '../database/isUuid';
import type { Statements } from '../database/TenantStatements';
import * as statements from './statements';

const FOREIGN_KEY_VIOLATION = '23503';

/** Who asks for pages. */
export interface PageReader {
  /** The audiences that the reader belongs to. */
  audiences: PageAudience[];
  /** The reference of the user; nothing for a service. */
  user?: string;
  /** Which mockups the reader may publish: of their pages, it is said where they come from. */
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

/** The pages of a tenant, on PostgreSQL. It asks no permissions. */
export class PageStore {
  readonly #tenantId: string;
  readonly #statements: Statements;
  readonly #logger: LoggerService;

  constructor(options: {
    tenantId: string;
    statements: Statements;
    logger: LoggerService;
  }) {
    this.#tenantId = options.tenantId;
    this.#statements = options.statements;
    this.#logger = options.logger;
  }

  /** The pages that there are for a reader, by path. */
  async list(reader: PageReader): Promise<PublishedPage[]> {
    const rows = await this.#query<PageRow>(
      statements.SELECT_PAGES,
      this.#bindingsOf(reader),
    );
    return rows.map(toPage);
  }

  /** The page at a path, if there is one for the reader. */
  async get(
    path: string,
    reader: PageReader,
  ): Promise<PublishedPageWithLayout | undefined> {
    const [row] = await this.#query<PageRowWithLayout>(statements.SELECT_PAGE, {
      ...this.#bindingsOf(reader),
      path,
    });
    return row && toPageWithLayout(row);
  }

  /** The home page of a reader, if there is one. */
  async getHome(
    reader: PageReader,
  ): Promise<PublishedPageWithLayout | undefined> {
    const { audiences, mayPublish } = this.#bindingsOf(reader);
    const [row] = await this.#query<PageRowWithLayout>(statements.SELECT_HOME, {
      audiences,
      mayPublish,
    });
    return row && toPageWithLayout(row);
  }

  /** The pages of a mockup, whoever their audience is. */
  async listOf(
    mockupId: string,
    allowed: MockupFilter | undefined,
    mayPublish: MockupFilter | undefined,
  ): Promise<PublishedPage[]> {
    if (!isUuid(mockupId)) {
      return [];
    }
    const rows = await this.#query<PageRow>(statements.SELECT_PAGES_OF_MOCKUP, {
      mockupId,
      allowed: this.#condition(allowed),
      mayPublish: this.#condition(mayPublish),
    });
    return rows.map(toPage);
  }

  /**
   * Shows a version of a mockup at a path; nothing where the mockup is not allowed or has no such
   * version, where the version has to be reviewed first, and where the path has a page of another
   * mockup.
   */
  async publish(
    path: string,
    request: PublishPageRequest,
    options: { user: string; allowed: MockupFilter | undefined },
  ): Promise<PublishedPage | undefined> {
    try {
      const [row] = await this.#query<PageRow>(statements.PUBLISH_PAGE, {
        path,
        title: request.title ?? null,
        mockupId: request.mockupId,
        versionId: request.versionId,
        audience: request.audience,
        home: request.home ?? false,
        template: request.template ?? false,
        user: options.user,
        allowed: this.#condition(options.allowed),
      });
      return row && toPage(row);
    } catch (error) {
      // Deleted since the statement has read it.
      if ((error as { code?: string }).code === FOREIGN_KEY_VIOLATION) {
        return undefined;
      }
      throw error;
    }
  }

  /** Takes a page back; false where there is none of an allowed mockup. */
  async takeBack(
    path: string,
    allowed: MockupFilter | undefined,
  ): Promise<boolean> {
    const rows = await this.#query(statements.DELETE_PAGE, {
      path,
      allowed: this.#condition(allowed),
    });
    return rows.length > 0;
  }

  /** The layout of a version, if an allowed mockup has that. */
  async layoutOf(
    { mockupId, versionId }: Pick<PublishPageRequest, 'mockupId' | 'versionId'>,
    allowed: MockupFilter | undefined,
  ): Promise<LayoutItem[] | undefined> {
    const [row] = await this.#query<Pick<PageRowWithLayout, 'layout_data'>>(
      statements.SELECT_LAYOUT,
      { mockupId, versionId, allowed: this.#condition(allowed) },
    );
    return row?.layout_data;
  }

  /** Whether a version is ready, or does not have to be before it is published. */
  async isReviewed(versionId: string): Promise<boolean> {
    const rows = await this.#query(statements.SELECT_IS_REVIEWED, {
      versionId,
    });
    return rows.length > 0;
  }

  /** Whether there is a page at a path for a reader, or of a mockup that is allowed. */
  async isThere(
    path: string,
    reader: PageReader,
    allowed: MockupFilter | undefined,
  ): Promise<boolean> {
    const { audiences, user } = this.#bindingsOf(reader);
    const rows = await this.#query(statements.SELECT_PAGE_EXISTS, {
      path,
      audiences,
      user,
      allowed: this.#condition(allowed),
    });
    return rows.length > 0;
  }

  /** What is at a path, for whomever it is. */
  async at(path: string) {
    const [row] = await this.#query<
      Pick<PageRow, 'mockup_id' | 'is_home' | 'audience'>
    >(statements.SELECT_PAGE_AT, { path });
    return (
      row && {
        mockupId: row.mockup_id,
        home: row.is_home,
        audience: row.audience,
      }
    );
  }

  /** How many pages the tenant has. */
  async count(): Promise<number> {
    const [{ pages }] = await this.#query<{ pages: number }>(
      statements.COUNT_PAGES,
      {},
    );
    return pages;
  }

  #bindingsOf({ audiences, user, mayPublish }: PageReader) {
    return {
      audiences,
      user: user ?? null,
      mayPublish: this.#condition(mayPublish),
    };
  }

  #condition(filter: MockupFilter | undefined): Knex.Raw {
    return conditionOf(this.#statements.knex, filter);
  }

  #query<TRow>(sql: string, bindings: Knex.ValueDict): Promise<TRow[]> {
    const { knex } = this.#statements;
    const tenantId = this.#tenantId;
    return withMappedErrors(this.#logger, () =>
      this.#statements.run(tenantId, knex.raw(sql, { ...bindings, tenantId })),
    );
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
