import { ConflictError } from '@backstage/errors';
import type {
  Tenant,
  TenantMember,
  TenantsApi,
  TenantShare,
  UpdateTenant,
} from 'backstage-plugin-tenants-common';
import { isDeepStrictEqual } from 'node:util';
import { principalOf } from './readTenantsFile';
import type { WantedShare, WantedTenant } from './readTenantsFile';

/** One change of a tenant. */
export interface Change {
  slug: string;
  /** Begins with `+` for what is added, `~` for what is changed, `-` for what is removed. */
  text: string;
  apply(): Promise<unknown>;
}

type Options = { token?: string };

const PAGE = 500;
const SECTIONS = ['catalog', 'integrations', 'plugins'] as const;

/** What is to be done for one tenant. */
class TenantPlan {
  readonly #api: TenantsApi;
  readonly #wanted: WantedTenant;
  readonly #options: Options;
  #found: Tenant | undefined;

  constructor(api: TenantsApi, wanted: WantedTenant, options: Options) {
    this.#api = api;
    this.#wanted = wanted;
    this.#options = options;
  }

  async changes(): Promise<Change[]> {
    const { slug } = this.#wanted;
    this.#found = await this.#api.getTenant(slug, this.#options);
    if (this.#found?.deleted_at) {
      throw new ConflictError(
        `The tenant '${slug}' is deleted. Restore it, or take it out of the file`,
      );
    }
    return [
      ...this.#row(),
      ...(await this.#signIn()),
      ...(await this.#members()),
      ...(await this.#sources()),
    ];
  }

  /** What it shares; a share is told from others by what it gives to whom. */
  async shares(): Promise<Change[]> {
    const { slug, shares } = this.#wanted;
    if (!shares) {
      return [];
    }
    const there = this.#found
      ? (await this.#api.listShares(slug, this.#options)).shares
      : [];
    const added = shares.filter(each => !find(there, each));
    const removed = there.filter(each => !find(shares, each));
    const changed = shares.flatMap(each => {
      const before = find(there, each);
      return before &&
        (before.owner !== each.owner || before.position !== each.position)
        ? [{ before, each }]
        : [];
    });
    return [
      ...removed.map(share =>
        this.#change(`- share ${describeShare(share)}`, () =>
          this.#api.deleteShare(slug, share.share_id, this.#options),
        ),
      ),
      ...changed.map(({ before, each }) =>
        this.#change(`~ share ${describeShare(each)}`, () =>
          this.#api.updateShare(
            slug,
            before.share_id,
            { owner: each.owner, position: each.position },
            this.#options,
          ),
        ),
      ),
      ...added.map(share =>
        this.#change(`+ share ${describeShare(share)}`, () =>
          this.#api.createShare(slug, share, this.#options),
        ),
      ),
    ];
  }

  #row(): Change[] {
    const { slug, name, limits } = this.#wanted;
    const row = { tenant_name: name, ...limits };
    const before = this.#found;
    if (!before) {
      return [
        this.#change(`+ tenant ${JSON.stringify(name)}`, () =>
          this.#api.createTenant({ tenant_slug: slug, ...row }, this.#options),
        ),
      ];
    }
    const changed = Object.entries(row).filter(
      ([key, value]) => before[key as keyof Tenant] !== value,
    );
    if (changed.length === 0) {
      return [];
    }
    const changes: UpdateTenant = Object.fromEntries(changed);
    // A burst is taken together with its rate alone.
    if (changes.burst && row.requests_per_second) {
      changes.requests_per_second = row.requests_per_second;
    }
    const texts = changed.map(
      ([key, value]) =>
        `${key} ${JSON.stringify(
          before[key as keyof Tenant],
        )} -> ${JSON.stringify(value)}`,
    );
    return [
      this.#change(`~ ${texts.join(', ')}`, () =>
        this.#api.updateTenant(slug, changes, this.#options),
      ),
    ];
  }

  async #members(): Promise<Change[]> {
    const { slug, members } = this.#wanted;
    if (!members) {
      return [];
    }
    const there = new Map(
      (await this.#listMembers()).map(({ principal, role }) => [
        principal,
        role,
      ]),
    );
    const wanted = new Map(
      Object.entries(members).map(([name, role]) => [principalOf(name), role]),
    );
    const put = [...wanted]
      .filter(([principal, role]) => there.get(principal) !== role)
      .map(([principal, role]) => {
        const before = there.get(principal);
        return this.#change(
          before
            ? `~ member ${principal}: ${before} -> ${role}`
            : `+ member ${principal} as ${role}`,
          () => this.#api.putMember(slug, principal, { role }, this.#options),
        );
      });
    const removed = [...there.keys()]
      .filter(principal => !wanted.has(principal))
      .map(principal =>
        this.#change(`- member ${principal}`, () =>
          this.#api.removeMember(slug, principal, this.#options),
        ),
      );
    return [...put, ...removed];
  }

  async #listMembers(): Promise<TenantMember[]> {
    const members: TenantMember[] = [];
    let isMore = this.#found !== undefined;
    while (isMore) {
      const { items, totalItems } = await this.#api.listMembers(
        this.#wanted.slug,
        { limit: PAGE, offset: members.length },
        this.#options,
      );
      members.push(...items);
      isMore = items.length > 0 && members.length < totalItems;
    }
    return members;
  }

  async #sources(): Promise<Change[]> {
    const { slug, sources } = this.#wanted;
    if (!sources) {
      return [];
    }
    const there =
      this.#found && (await this.#api.getCatalogConfig(slug, this.#options));
    if (
      SECTIONS.every(name => isSame(sources[name] ?? {}, there?.[name] ?? {}))
    ) {
      return [];
    }
    return [
      this.#change(`${there ? '~' : '+'} sources`, () =>
        this.#api.putCatalogConfig(slug, sources, {
          ...this.#options,
          // What somebody else has configured meanwhile stays.
          ifMatch: there?.etag,
        }),
      ),
    ];
  }

  async #signIn(): Promise<Change[]> {
    const { slug, sign_in: wanted } = this.#wanted;
    if (wanted === undefined) {
      return [];
    }
    const there = this.#found
      ? await this.#api.getSignIn(slug, this.#options)
      : undefined;
    if (wanted === null) {
      return there
        ? [
            this.#change('- sign-in', () =>
              this.#api.removeSignIn(slug, this.#options),
            ),
          ]
        : [];
    }
    const { updated_at, updated_by, ...before } = there ?? {};
    return isSame(before, wanted)
      ? []
      : [
          this.#change(`${there ? '~' : '+'} sign-in by ${wanted.issuer}`, () =>
            this.#api.putSignIn(slug, wanted, this.#options),
          ),
        ];
  }

  #change(text: string, apply: () => Promise<unknown>): Change {
    return { slug: this.#wanted.slug, text, apply };
  }
}

/**
 * What is to be done for the tenants to be as a file wants them, in the order in which it is done.
 * Shares come last: they name other tenants.
 *
 * @param options.onCompared - called after each tenant, with how many have been compared
 */
export async function planTenants(
  api: TenantsApi,
  wanted: WantedTenant[],
  { onCompared, ...options }: Options & { onCompared: (count: number) => void },
): Promise<Change[]> {
  const changes: Change[] = [];
  const shares: Change[] = [];
  for (const [index, tenant] of wanted.entries()) {
    const plan = new TenantPlan(api, tenant, options);
    changes.push(...(await plan.changes()));
    shares.push(...(await plan.shares()));
    onCompared(index + 1);
  }
  return [...changes, ...shares];
}

type Shared = Pick<WantedShare, 'filter' | 'targets'>;

function find<TShare extends Shared>(
  shares: readonly TShare[],
  { filter, targets }: Shared,
): TShare | undefined {
  return shares.find(
    share =>
      isSame(share.filter, filter) &&
      isSame([inOrder(share.targets)], [inOrder(targets)]),
  );
}

function inOrder(targets: TenantShare['targets']): string | string[] {
  return targets === 'all' ? targets : [...targets].sort();
}

function describeShare({ filter, targets }: Shared): string {
  return `of ${filter.join('; ')} with ${
    targets === 'all' ? 'all' : targets.join(', ')
  }`;
}

/** Whether two values are the same as JSON, in whatever order their keys are. */
function isSame(...values: [object, object]): boolean {
  const [one, other] = values.map(each => JSON.parse(JSON.stringify(each)));
  return isDeepStrictEqual(one, other);
}
