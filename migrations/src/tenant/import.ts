import { createHash } from 'node:crypto';
import { DatabaseError } from 'pg';
import { adoptedEngine } from '../adopt/state';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import {
  readRegistries,
  readTenantsOfOthers,
  refuseSharedId,
} from '../rollback/tenantSchemas';
import { DEFAULT_TENANT_ID, RETIRED_TABLE } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { type Footer, type Header, readArchive, requireFile } from './archive';
import { BATCH, loadParts, type PartPlace, requireShared } from './loadParts';
import { placeOf, whereIs, withPlaces } from './places';
import type { Place, Portal } from './places';
import {
  digestOf,
  LEFT_BEHIND,
  refuseHalfPurged,
  REMOVED,
  removeLeftovers,
} from './purge';
import { allowWrites } from './refusedWrites';
import type { Target } from './rewrite';
import { type OnTenant, refuseWithoutRightsOn } from './rights';
import {
  isKnown,
  isOwnSchema,
  registrySections,
  schemaOfPart,
} from './sections';
import type { MakeTables } from './tables';

export interface ImportOptions {
  file: string;
  /** In place of the one in the file. */
  slug?: string;
  /** Puts what the file has in the place of what the same tenant has now. */
  replace?: boolean;
  portal: Portal;
  makeTables: MakeTables;
  /** Asks whether to go on. */
  confirm?(target: Target): Promise<unknown>;
}

/** The constraint of a slug that another tenant has. */
const SLUG_KEY = 'tenants_tenant_slug_key';

/** What an import has made. */
export interface ImportReport {
  tenantId: string;
  slug: string;
  /** By `part table`. */
  rows: Record<string, number>;
}

/**
 * Makes a tenant of an export. The registry's row comes last, in one transaction with the
 * entities: until then nothing refers to the id. An import that was stopped is begun anew, with
 * the same id, and first removes what the one before has left.
 *
 * @throws {@link RefusedError} for a file that is damaged, and a slug that is taken
 */
export async function importTenant(
  context: StepContext,
  options: ImportOptions,
): Promise<ImportReport> {
  const { file, portal } = options;
  const { reporter } = context;
  const { header, footer } = await readChecked(context, file);
  return withPlaces(context, portal, async places => {
    const { id, slug } = header.tenant;
    const wanted = options.slug ?? slug;
    const likely = options.replace
      ? id
      : await chooseId(context, id, footer.sha256, wanted, new Map());
    const needed = {
      others: (await readRegistries(context)).map(each => ({
        ...each,
        rights: ['select'],
      })),
      ...(options.replace ? {} : { removes: LEFT_BEHIND }),
    };
    await refuseUnfillable(places, partsOf(header), likely, needed);
    const target = options.replace
      ? await chooseReplaced(context, header)
      : await chooseTarget(context, header, footer, wanted);
    if (target.tenantId !== likely) {
      await refuseUnfillable(places, partsOf(header), target.tenantId, needed);
    }
    await options.confirm?.(target);
    await requireShared(context, places, header.sections, target);
    const parts: PartPlace[] = [];
    for (const part of new Set(header.sections.map(each => each.part))) {
      const { executor, schema } = await whereIs(context, places, part, target);
      parts.push({ part, session: executor.session, schema });
    }
    if (!options.replace) {
      await removeLeftovers(context, places, target.tenantId);
    }
    await makeMissingTables(places, partsOf(header), {
      ...options,
      reporter,
      migrations: header.migrations,
      tenantId: target.tenantId,
    });
    await loadParts(context, { ...options, ...footer }, parts, target).catch(
      error => {
        throw error instanceof DatabaseError && error.constraint === SLUG_KEY
          ? slugTaken(target.slug)
          : error;
      },
    );
    await removeMarks(places, target.tenantId);
    return {
      tenantId: target.tenantId,
      slug: target.slug,
      rows: Object.fromEntries(
        header.sections.map(({ part, table, rows }) => [
          `${part} ${table}`,
          rows,
        ]),
      ),
    };
  });
}

/**
 * Removes what an import has left that was stopped, and is not to be begun anew.
 *
 * @returns the slug that it was to have
 * @throws {@link RefusedError} where the tenant is there
 */
export async function giveUpImport(
  context: StepContext,
  options: Pick<ImportOptions, 'file' | 'slug' | 'portal'>,
): Promise<string> {
  const { header, footer } = await readChecked(context, options.file);
  const { id } = header.tenant;
  const { sha256 } = footer;
  const { slug = header.tenant.slug } = options;
  const complete = await context.executor.read(
    'select from tenants where tenant_slug = $1 and tenant_id = any ($2)',
    [slug, [id, uuidOf(`${sha256} ${slug}`)]],
  );
  if (complete.length > 0) {
    throw new RefusedError(
      `The import of "${slug}" is complete. To remove that tenant, delete it, and run "${operatorCommand(
        'tenant',
        `purge ${slug} --now`,
      )}".`,
    );
  }
  await refuseHalfPurged(context, id);
  const tenantId = await chooseId(context, id, sha256, slug);
  await withPlaces(context, options.portal, async places => {
    await refuseWithoutRightsOn(places, tenantId, {
      mockups: REMOVED,
      removes: LEFT_BEHIND,
    });
    await removeLeftovers(context, places, tenantId);
  });
  return slug;
}

/** @throws {@link RefusedError} for a file that is damaged, or has what this version does not know */
async function readChecked(
  context: StepContext,
  file: string,
): Promise<{ header: Header; footer: Footer }> {
  await requireFile(file, 'read');
  context.reporter.info('Checking the file');
  const { header, footer } = await readArchive(
    file,
    BATCH,
    async () => undefined,
  );
  const registry = await registrySections(
    context.executor,
    context.settings.schema,
  );
  const unknown = [
    ...header.sections,
    ...Object.keys(header.migrations).map(part => ({
      part,
      table: 'knex_migrations',
    })),
  ].find(each => !isKnown(each, registry));
  if (unknown) {
    throw new RefusedError(
      `${file} has rows of ${unknown.part} ${unknown.table}, which this version does not import. Use the version that wrote it.`,
    );
  }
  return { header, footer };
}

/** A tenant that was moved away from here, and is in use again, has no use for these triggers. */
export async function removeMarks(
  places: Place[],
  tenantId: string,
): Promise<void> {
  for (const { executor } of places) {
    await allowWrites(executor, tenantId);
  }
}

/** @throws {@link RefusedError} where the login lacks rights to make or fill the tables of a tenant */
export function refuseUnfillable(
  places: Place[],
  parts: string[],
  tenantId: string,
  more?: Pick<OnTenant, 'others' | 'removes'>,
): Promise<void> {
  return refuseWithoutRightsOn(places, tenantId, {
    ...more,
    own: ['own', 'select', 'trigger'],
    mockups: ['select', 'insert', 'update', 'delete'],
    makes: parts,
  });
}

/**
 * Makes the tables of an engine and of instances.
 *
 * @param options - with `replace` those that are there stay
 */
export async function makeMissingTables(
  places: Place[],
  parts: string[],
  options: Pick<ImportOptions, 'makeTables' | 'replace'> &
    Pick<Header, 'migrations'> & {
      tenantId: string;
      reporter: StepContext['reporter'];
    },
): Promise<void> {
  const { makeTables, replace, reporter, tenantId } = options;
  for (const part of parts) {
    const { connection, executor } = placeOf(places, part);
    const schema = schemaOfPart(part, tenantId);
    const migrations = options.migrations[part] ?? [];
    if (replace && (await hasTables(executor, part, schema, migrations))) {
      continue;
    }
    reporter.info(`Making the tables: ${part}`);
    await makeTables({ connection, part, tenantId, schema, migrations });
  }
}

function partsOf({ migrations, sections }: Header): string[] {
  return [
    ...new Set([
      ...Object.keys(migrations),
      ...sections.map(({ part }) => part),
    ]),
  ].filter(isOwnSchema);
}

/** Whether a purge has retired the slug $1, which was not of the tenant with the digest $2. */
export const RETIRED_OF_ANOTHER = `select from ${RETIRED_TABLE}
      where tenant_slug = $1 and tenant_digest <> decode($2, 'hex')`;

function slugTaken(slug: string): RefusedError {
  return new RefusedError(
    `The slug "${slug}" is taken. Give another one with --slug.`,
  );
}

async function chooseTarget(
  context: StepContext,
  { tenant: from }: Header,
  { sha256 }: Footer,
  wanted: string,
): Promise<Target> {
  if (!/^[a-z0-9-]{1,63}$/.test(wanted) || ['www', 'mine'].includes(wanted)) {
    throw new RefusedError(
      `The slug "${wanted}" can't be one. Expected 1 to 63 characters of a-z, 0-9 and -, such as "acme".`,
    );
  }
  const { executor } = context;
  const taken = await executor.read(
    `select from tenants where tenant_slug = $1
      union all
     ${RETIRED_OF_ANOTHER}`,
    [wanted, digestOf(from.id)],
  );
  if (taken.length > 0) {
    throw slugTaken(wanted);
  }
  await refuseHalfPurged(context, from.id);
  return {
    slug: wanted,
    tenantId: await chooseId(context, from.id, sha256, wanted),
    from,
  };
}

/** That of the file, or one that is the same for each run, where another tenant has that. */
async function chooseId(
  context: StepContext,
  id: string,
  sha256: string,
  slug: string,
  others?: ReadonlyMap<string, string>,
): Promise<string> {
  const registered = await context.executor.read(
    'select from tenants where tenant_id = $1',
    [id],
  );
  const ofOthers = others ?? (await readTenantsOfOthers(context, true));
  return registered.length > 0 || ofOthers.has(id.replaceAll('-', ''))
    ? uuidOf(`${sha256} ${slug}`)
    : id;
}

async function chooseReplaced(
  context: StepContext,
  { tenant: from }: Header,
): Promise<Target> {
  if (from.id === DEFAULT_TENANT_ID && (await adoptedEngine(context))) {
    throw new RefusedError(
      'The default tenant has what the stock catalog has, which is not in the file. Restore a backup of the database.',
    );
  }
  const [tenant] = await context.executor.read<{ slug: string }>(
    `select tenant_slug as slug from tenants where tenant_id = $1 and deleted_at is null`,
    [from.id],
  );
  if (!tenant) {
    throw new RefusedError(
      `The tenant "${from.slug}" of the file is not there, or is deleted. Restore it first, or leave --replace out.`,
    );
  }
  await refuseSharedId(context, from.id);
  return { tenantId: from.id, slug: tenant.slug, from };
}

/** @throws {@link RefusedError} for tables of another version */
async function hasTables(
  executor: Executor,
  part: string,
  schema: string,
  migrations: string[],
): Promise<boolean> {
  const [{ exists, isMigrated }] = await executor.read<{
    exists: boolean;
    isMigrated: boolean;
  }>(
    `select exists (select from pg_namespace where nspname = $1) as exists,
            to_regclass(format('%I.knex_migrations', $1::text)) is not null as "isMigrated"`,
    [schema],
  );
  if (!exists) {
    return false;
  }
  const done = isMigrated
    ? await executor.read<{ name: string }>(
        `select name from ${escapeIdentifier(schema)}.knex_migrations`,
      )
    : [];
  const names = done.map(({ name }) => name).sort();
  if (names.join() !== [...migrations].sort().join()) {
    throw new RefusedError(
      `The tables of ${part} in this database are of another version than those of the file. Use the version that wrote them.`,
    );
  }
  return true;
}

/** The same for each run with the same file. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
