import type { Postgres } from '@internal/postgres';
import { withKnex } from '../harness/database';
import type { LoadRequest } from '../harness/load';
import { countStatements } from '../harness/statements';
import type { MockupServer } from './MockupServer';

const SAMPLES = 20;

/**
 * Says how many statements each server sends per request.
 *
 * @throws Error if ours needs more than one
 */
export async function describeStatements(
  postgres: Postgres,
  servers: MockupServer[],
  requests: Record<string, () => LoadRequest>,
): Promise<string[]> {
  return await withKnex(postgres, 'postgres', async knex => {
    const notes: string[] = [];
    for (const [what, nextRequest] of Object.entries(requests)) {
      const counts: string[] = [];
      for (const server of servers) {
        const total = await countStatements(knex, server.database, async () => {
          for (let sample = 0; sample < SAMPLES; sample++) {
            await server.send(nextRequest());
          }
        });
        const perRequest = total / SAMPLES;
        if (server.isOurs && perRequest !== 1) {
          throw new Error(`${what}, ${server.name}: ${perRequest} statements`);
        }
        counts.push(`${server.name} ${perRequest}`);
      }
      notes.push(`Statements per ${what}: ${counts.join('; ')}`);
    }
    return notes;
  });
}
