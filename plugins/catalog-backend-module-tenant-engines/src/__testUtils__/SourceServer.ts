import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';

/** Serves files to engines, which read them as the locations of tenants. */
export class SourceServer {
  readonly #server: Server;
  readonly #files = new Map<string, string>();

  static async start(): Promise<SourceServer> {
    const source = new SourceServer();
    await new Promise<void>(resolve => {
      source.#server.listen(0, '127.0.0.1', resolve);
    });
    return source;
  }

  private constructor() {
    this.#server = createServer((req, res) => {
      const text = this.#files.get(req.url ?? '');
      res.statusCode = text === undefined ? 404 : 200;
      res.end(text);
    });
  }

  /** As `backend.reading.allow` names it. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Puts a file in place, or takes it away. */
  put(path: string, text: string | undefined): string {
    if (text === undefined) {
      this.#files.delete(path);
    } else {
      this.#files.set(path, text);
    }
    return `http://${this.host}${path}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => {
      this.#server.close(resolve);
    });
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
