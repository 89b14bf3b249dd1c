import type { Config } from '@backstage/config';
import type { ClientConfig } from 'pg';
import { executorOf } from '../engine/Executor';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { locatePlugins } from '../session/catalogLocation';
import type { MigrationSession } from '../session/MigrationSession';
import { enumerate } from '../text';
import { mockupSections, schemaOfPart } from './sections';

/** What tells which databases the portal has beside that of the catalog. */
export interface Portal {
  /** The configuration of Backstage, where the command has one. */
  config?: Config;
  /** Databases on the server of the catalog, as given by the operator. */
  databases?: string[];
}

/** A database of the portal. */
export interface Place {
  /** Its name, for reports. */
  database: string;
  /** Tells the database from those of other servers. */
  server: string;
  encoding: string;
  connection: ClientConfig;
  /** Those that have it, as far as the configuration tells. */
  plugins: string[];
  /** Of the login, which owns what plugins create there. */
  executor: Executor;
}

// Where Backstage gives each plugin a database.
const DEFAULT_PREFIX = 'backstage_plugin_';

/** Opens a session of the login in each database of the portal, that of the catalog first. */
export async function withPlaces<T>(
  context: StepContext,
  portal: Portal,
  work: (places: Place[]) => Promise<T>,
): Promise<T> {
  const places: Place[] = [];
  const sessions: MigrationSession[] = [];
  const known = new Map<string, Place>();
  const add = async (connection: ClientConfig, plugins: string[] = []) => {
    const session = await context.openSession(connection);
    sessions.push(session);
    const [found] = await session.query<
      Pick<Place, 'database' | 'server' | 'encoding'>
    >(
      // Without the address, of which a server may have several.
      `select current_database() as database, getdatabaseencoding() as encoding,
              current_database() || ' ' || pg_postmaster_start_time() as server`,
    );
    const { server } = found;
    const place = known.get(server) ?? {
      ...found,
      connection,
      plugins: [],
      executor: executorOf(session, context.settings, context.reporter),
    };
    place.plugins.push(...plugins);
    if (!known.has(server)) {
      known.set(server, place);
      places.push(place);
    }
  };
  try {
    for (const { name, plugins } of await databasesBeside(context, portal)) {
      await add(context.connectionTo(name), plugins);
    }
    for (const { plugin, connection } of await locatePlugins(portal.config)) {
      await add(connection, [plugin]);
    }
    return await work(places);
  } finally {
    await Promise.all(sessions.map(session => session.close()));
  }
}

export const BEGIN_SNAPSHOT = 'begin isolation level repeatable read read only';

/** Each session reads what there is at one moment, in a transaction that ends with the work. */
export async function inSnapshots<T>(
  readers: Executor[],
  work: () => Promise<T>,
): Promise<T> {
  return readers.reduceRight<() => Promise<T>>(
    (inside, { session }) =>
      () =>
        session.transaction(BEGIN_SNAPSHOT, inside),
    work,
  )();
}

/** The database of the catalog, and others of the portal on its server. */
async function databasesBeside(
  { executor, reporter }: StepContext,
  { config, databases = [] }: Portal,
): Promise<{ name: string; plugins?: string[] }[]> {
  const [{ own }] = await executor.read<{ own: string }>(
    'select current_database() as own',
  );
  const prefix = config ? prefixOf(config) : /^(.+_)catalog$/.exec(own)?.[1];
  const found = prefix
    ? await executor.read<{ name: string; plugins: string[] }>(
        `select datname as name, array[substr(datname, length($1) + 1)] as plugins from pg_database
          where datallowconn and not datistemplate and starts_with(datname, $1)
            -- Then the id of a plugin: the prefix of another portal may begin with this one.
            and substr(datname, length($1) + 1) ~ '^[A-Za-z][A-Za-z0-9-]*$'
            and has_database_privilege(datname, 'connect') order by 1`,
        [prefix],
      )
    : [];
  const named = [own, ...databases];
  if (config) {
    return [...named.map(name => ({ name })), ...found];
  }
  const others = found.filter(({ name }) => !named.includes(name));
  if (others.length > 0) {
    reporter.warn(
      `Left out, since no configuration is given: ${enumerate(
        others.map(({ name }) => name),
      )}. Name those of the portal by --database, or give --config.`,
    );
  }
  return named.map(name => ({ name }));
}

function prefixOf(config: Config): string | undefined {
  const database = config.getOptionalConfig('backend.database');
  return database?.getOptionalString('pluginDivisionMode') === 'schema'
    ? undefined
    : database && (database.getOptionalString('prefix') ?? DEFAULT_PREFIX);
}

/** The database of a plugin, where each has its own. */
export function placeOf(places: Place[], part: string): Place {
  if (part === 'engine') {
    return places[0];
  }
  const plugin = part.replace('plugin ', '');
  return (
    places.find(({ plugins }) => plugins.includes(plugin)) ??
    places.find(({ database }) => database.endsWith(`_${plugin}`)) ??
    places[0]
  );
}

/**
 * Where the rows of a part of a tenant stand, or are to stand.
 *
 * @throws {@link RefusedError} for mockups, where their plugin has no tables
 */
export async function whereIs(
  { executor, settings }: StepContext,
  places: Place[],
  part: string,
  { tenantId }: { tenantId: string },
): Promise<{ executor: Executor; schema: string }> {
  if (part === 'registry') {
    return { executor, schema: settings.schema };
  }
  if (part !== 'mockups') {
    return {
      executor: placeOf(places, part).executor,
      schema: schemaOfPart(part, tenantId),
    };
  }
  for (const place of places) {
    const [found] = await mockupSections(place.executor);
    if (found) {
      return { executor: place.executor, schema: found.schema };
    }
  }
  throw new RefusedError(
    'There are no tables of the mockup plugin for the mockups of the tenant. Start the backend once, or give its configuration (--config, --to-config) or --database.',
  );
}
