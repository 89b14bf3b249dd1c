import { TestServer } from '@internal/catalog-testing/TestServer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tarOf } from '../../__testUtils__/tarOf';

/** A private repository, which its token alone may read. */
export interface GiteaRepository {
  token: string;
  /** The text of each file of its branch `main`. */
  files: { [path: string]: string };
}

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const ROUTE =
  /^\/api\/v1\/repos\/([^/]+\/[^/]+)\/(git\/commits\/main|archive\/main\.tar\.gz|contents\/(.+))$/;

/** Stands in for a Gitea: its last commit, its archive and its files, as Backstage reads them. */
export class GiteaServer extends TestServer {
  /** By their paths, such as `acme/handbook`. */
  readonly repositories = new Map<string, GiteaRepository>();
  /** The token of each request for a repository, by its path. */
  readonly tokens = new Map<string, Set<string | undefined>>();

  constructor() {
    super((req, res) => this.#answer(req, res));
  }

  /** An entry of `integrations.gitea` for this server. */
  integration(token?: string) {
    return {
      host: this.host,
      baseUrl: this.url,
      ...(token && { password: token }),
    };
  }

  /** As a person copies it from the browser. */
  fileUrl(repository: string, file = ''): string {
    return `${this.url}/${repository}/src/branch/main/${file}`;
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const { pathname } = new URL(req.url ?? '', this.url);
    const [, path = '', what, file] = ROUTE.exec(pathname) ?? [];
    const token = /^token (.+)$/.exec(req.headers.authorization ?? '')?.[1];
    this.tokens.set(path, (this.tokens.get(path) ?? new Set()).add(token));
    const repository = this.repositories.get(path);
    const body =
      repository && repository.token === token
        ? bodyOf(path, repository, what, file)
        : undefined;
    res.statusCode = body === undefined ? 404 : 200;
    res.end(body ?? '{"message":"The target couldn\'t be found."}');
  }
}

function bodyOf(
  path: string,
  { files }: GiteaRepository,
  what: string,
  file?: string,
): string | Buffer | undefined {
  if (file) {
    const content = files[file] && Buffer.from(files[file]).toString('base64');
    return content && JSON.stringify({ encoding: 'base64', content });
  }
  if (what.startsWith('git')) {
    return JSON.stringify({ sha: COMMIT });
  }
  const [, folder] = path.split('/');
  return tarOf(
    Object.fromEntries(
      Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]),
    ),
  );
}
