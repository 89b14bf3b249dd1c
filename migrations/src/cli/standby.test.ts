import { ReplicatedPostgres } from '@internal/postgres';
import { testedVersions, waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { seedCatalog } from '../__testUtils__/seed';
import { EXIT_CODES } from '../errors';
import { runInProcess } from './__testUtils__/runCli';
import { commands } from './program';
import type { CommandDefinition } from './run';

describe.each(testedVersions({ versions: 'every' }))(
  'on a standby of PostgreSQL %s',
  version => {
    let servers: ReplicatedPostgres;
    beforeAll(async () => {
      servers = await ReplicatedPostgres.start(version);
      const database = await openCatalogDatabase(servers.primary);
      await seedCatalog(database.client);
      await runPhases(database, 5);
      const { rows } = await database.client.query<{ lsn: string }>(
        'select pg_current_wal_lsn()::text as lsn',
      );
      await database.close();
      const replica = new Client(servers.replica);
      await replica.connect();
      await waitUntil('the standby to replay it all', async () => {
        const { rows: replayed } = await replica.query(
          'select pg_last_wal_replay_lsn() >= $1::pg_lsn as done',
          [rows[0].lsn],
        );
        return replayed[0].done;
      });
      await replica.end();
    });
    afterAll(() => servers?.stop());

    const wordsOf = ({
      name,
      subcommand,
      arguments: names,
      options,
    }: CommandDefinition) => [
      name,
      ...(subcommand ? [subcommand] : []),
      ...(names ? ['acme'] : []),
      ...options
        .filter(({ mandatory }) => mandatory)
        .flatMap(({ long }) => [long!, 'host:5432']),
    ];

    it.each(
      commands
        .filter(({ access }) => access === 'change')
        .flatMap(command => [
          wordsOf(command),
          [...wordsOf(command), '--dry-run'],
        ])
        .map(command => [command.join(' '), command]),
    )('%s is refused', async (_, command) => {
      const { exitCode, stderr } = await runInProcess(
        { ...servers.replica, database: 'postgres' },
        ...(command as string[]),
      );
      expect(stderr).toContain(
        'The server is a standby, which takes no writes. Connect to the primary server.',
      );
      expect(exitCode).toBe(EXIT_CODES.refused);
    });

    it.each(
      commands
        .filter(({ access, subcommand }) => access === 'read' && !subcommand)
        .map(({ name }) => [name]),
    )('%s says so', async name => {
      const { exitCode, stderr, stdout } = await runInProcess(
        { ...servers.replica, database: 'postgres' },
        name,
      );
      expect(stderr).toContain('The server is a standby');
      expect(stdout + stderr).not.toContain('cannot execute');
      expect(exitCode).toBe(
        name === 'preflight' ? EXIT_CODES.refused : EXIT_CODES.done,
      );
    });
  },
);
