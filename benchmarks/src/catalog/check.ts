import { isDeepStrictEqual } from 'node:util';
import type { CatalogServer } from './CatalogServer';
import type { Scenario } from './requests';

/**
 * Makes sure that all servers do the same work: they must answer the same to each
 * request, with as many items as were asked for.
 *
 * @throws Error that names the server that answers otherwise
 */
export async function assertSameAnswers(
  servers: CatalogServer[],
  { what, requests, countOf, expected }: Scenario,
): Promise<void> {
  const [reference, ...others] = servers;
  for (const request of requests) {
    const answer = await reference.send<unknown>(request);
    const count = countOf(answer);
    if (count === 0 || (expected !== undefined && count !== expected)) {
      throw new Error(
        `${what}: ${count} items, ${expected ?? 'some'} expected`,
      );
    }
    for (const server of others) {
      const other = await server.send<unknown>(request);
      if (!isDeepStrictEqual(other, answer)) {
        throw new Error(
          `${what}: "${server.name}" and "${reference.name}" answer ` +
            `${request.path} differently: ${excerpt(other)}, ${excerpt(
              answer,
            )}`,
        );
      }
    }
  }
}

function excerpt(answer: unknown): string {
  return JSON.stringify(answer).slice(0, 500);
}
