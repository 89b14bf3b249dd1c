import type { Executor } from '../engine/Executor';

/** The extensions that phase 1 creates where they are missing (specification, B). */
export const REQUIRED_EXTENSIONS = ['uuid-ossp', 'pg_trgm'] as const;

/** What is known of an extension. */
export interface ExtensionFacts {
  /** The schema that it is installed in, in this database. */
  installedIn: string | null;
  /** The server has its files. */
  available: boolean;
  /** The login may create it. */
  creatable: boolean;
}

/**
 * What the server says of an extension. Trusted ones can be created by whoever may
 * create things in the database.
 */
export async function readExtension(
  executor: Executor,
  name: string,
): Promise<ExtensionFacts> {
  const [facts] = await executor.read<ExtensionFacts>(
    `select (select n.nspname from pg_extension e
               join pg_namespace n on n.oid = e.extnamespace
              where e.extname = $1) as "installedIn",
            v.name is not null as available,
            coalesce(l.rolsuper or (v.trusted or not v.superuser)
              and has_database_privilege(current_database(), 'create'), false) as creatable
       from pg_roles l
       left join pg_available_extensions a on a.name = $1
       left join pg_available_extension_versions v
         on v.name = a.name and v.version = a.default_version
      where l.rolname = current_user`,
    [name],
  );
  return facts;
}
