import { TestServer } from '@internal/catalog-testing/TestServer';

/** Serves files to engines, which read them as the locations of tenants. */
export class SourceServer extends TestServer {
  readonly #files = new Map<string, string>();

  constructor() {
    super((req, res) => {
      const text = this.#files.get(req.url ?? '');
      res.statusCode = text === undefined ? 404 : 200;
      res.end(text);
    });
  }

  /** Puts a file in place, or takes it away. */
  put(path: string, text: string | undefined): string {
    if (text === undefined) {
      this.#files.delete(path);
    } else {
      this.#files.set(path, text);
    }
    return `${this.url}${path}`;
  }
}

/** A component as a catalog-info file describes it. */
export function componentYaml(name: string, owner = 'team-a'): string {
  return `
apiVersion: backstage.io/v1alpha1
kind: Component
metadata:
  name: ${name}
spec:
  type: service
  lifecycle: production
  owner: ${owner}
`;
}
