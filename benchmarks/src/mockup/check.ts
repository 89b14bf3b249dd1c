import { isDeepStrictEqual } from 'node:util';
import type { LoadRequest } from '../harness/load';
import type { MockupServer } from './MockupServer';

/**
 * Makes sure that all servers do the same work: for the same mockup they must
 * answer the same.
 *
 * @throws Error that names the server that answers otherwise
 */
export async function assertSameAnswers(
  servers: MockupServer[],
  request: LoadRequest,
): Promise<void> {
  const [reference, ...others] = servers;
  const expected = await reference.send(request);
  for (const server of others) {
    const answer = await server.send(request);
    if (!isDeepStrictEqual(answer, expected)) {
      throw new Error(
        `"${server.name}" and "${reference.name}" differ: ` +
          `${JSON.stringify(answer)}, ${JSON.stringify(expected)}`,
      );
    }
  }
}
