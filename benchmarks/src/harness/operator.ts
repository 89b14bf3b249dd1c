// The commands of the operator are no public interface of the package.
/* eslint-disable @backstage/no-relative-monorepo-imports */
import { Writable } from 'node:stream';
import { SINGLE_TENANT_TABLES } from '@internal/postgres/testUtils';
import { main } from '../../../migrations/src/cli/program';
import { SCHEMA } from './backend';
import { type Database, runStatements } from './database';

/** Creates the empty tables of a catalog as it is before phase 1. */
export async function createSingleTenantTables(
  database: Database,
): Promise<void> {
  await runStatements(database, SINGLE_TENANT_TABLES);
}

/** `migrate:partition` */
export async function givePartition(
  { postgres, name }: Database,
  slug: string,
): Promise<void> {
  const url = postgres.connectionString(name);
  let said = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      said += chunk;
      done();
    },
  });
  const exitCode = await main(
    ['partition', slug, '--schema', SCHEMA, '--url', url],
    { stdout: stream, stderr: stream },
  );
  if (exitCode !== 0) {
    throw new Error(`No partition for ${slug}: ${said}`);
  }
}
