import type { PostgresVersion } from '@internal/postgres';
import {
  runInProcess,
  startCli,
  urlEnvironment,
} from '../../cli/__testUtils__/runCli';
import type { CliProcess } from '../../cli/__testUtils__/runCli';
import type { TrafficSizes } from './sizes';
import { LiveTraffic } from './LiveTraffic';
import { CatalogServer } from './CatalogServer';

/** The commands from before the first phase to the swap. */
export const UP = [
  ['phase1', '--backup-completed'],
  ['phase2'],
  ['phase3'],
  ['phase4'],
  ['phase5'],
];

/** Back to before the swap, while the application is connected, and over it again. */
export const BACK_AND_FORTH = [['rollback', '--force'], ['phase5']];

/** Does something to a command at work, or to the server below it. */
export type Disturbance = (command: CliProcess) => Promise<void>;

/** A migration under live traffic. */
export class LiveMigration {
  static async start(
    version: PostgresVersion,
    sizes: TrafficSizes,
  ): Promise<LiveMigration> {
    const server = await CatalogServer.start(version, sizes.seeded);
    const traffic = await server.query(client =>
      LiveTraffic.start(client, [server.oldApplication()], sizes),
    );
    await traffic.committed();
    return new LiveMigration(server, traffic);
  }

  private constructor(
    readonly server: CatalogServer,
    readonly traffic: LiveTraffic,
  ) {}

  /**
   * Runs a command until it is done, each time with the next disturbance, as long
   * as there is one; then lets the writers go on for a while. After phase 3 they
   * change over to the new application, one after the other.
   */
  async run(
    args: string[],
    next: () => Disturbance | undefined = () => undefined,
  ): Promise<void> {
    const [name] = args;
    this.traffic.during = name;
    await this.resume(args, next);
    this.traffic.during = `after ${name}`;
    await this.traffic.committed();
    if (name === 'phase3') {
      await this.traffic.deploy(await this.server.newApplication());
    }
  }

  /** Ends the traffic, and lists all that went wrong: nothing, if all is well. */
  async end(): Promise<string[]> {
    return this.server.query(client => this.traffic.end(client));
  }

  private async resume(
    args: string[],
    next: () => Disturbance | undefined,
  ): Promise<void> {
    for (;;) {
      const disturbance = next();
      if (!disturbance) {
        // No process: only a disturbance needs one, and each takes a second to start.
        const { exitCode, stderr } = await runInProcess(
          this.server.connection,
          ...args,
        );
        if (exitCode !== 0) {
          throw new Error(
            `"${args.join(' ')}" ended with ${exitCode}:\n${stderr}`,
          );
        }
        return;
      }
      const env = urlEnvironment(this.server.connection);
      const command = startCli(args, { env });
      await disturbance(command);
      if ((await command.result).exitCode === 0) {
        return;
      }
    }
  }
}
