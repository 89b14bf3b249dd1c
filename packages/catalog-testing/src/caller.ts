import type { ExtendedHttpServer } from '@backstage/backend-defaults/rootHttpRouter';
import request, { type Test } from 'supertest';
import type { describedAnswers } from './describedFetch';

/** Calls a plugin of a running backend as one caller. */
export interface Caller {
  get(path: string): Test;
  post(path: string, body?: unknown): Test;
  patch(path: string, body?: unknown): Test;
  put(path: string, body?: unknown): Test;
  delete(path: string): Test;
}

/**
 * Makes callers of the plugin at a path of a backend, by their header `Authorization`.
 *
 * @param check - throws for an answer that must not be
 */
export function callersOf(
  server: ExtendedHttpServer,
  base: string,
  check: ReturnType<typeof describedAnswers> = () => {},
) {
  return (authorization: string): Caller => {
    const agent = request(server);
    const send = (method: 'get' | 'post' | 'patch' | 'put' | 'delete') => {
      return (path: string, body?: unknown) => {
        const test = agent[method](`${base}${path}`);
        test.set('Authorization', authorization);
        test.expect(({ status, type, text }) =>
          check(method, `${base}${path.split('?')[0]}`, { status, type, text }),
        );
        return body === undefined ? test : test.send(body as object);
      };
    };
    return {
      get: send('get'),
      post: send('post'),
      patch: send('patch'),
      put: send('put'),
      delete: send('delete'),
    };
  };
}
