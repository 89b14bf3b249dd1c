import { once } from 'events';
import { createServer, Server } from 'http';
import { AddressInfo } from 'net';

/** Serves what the catalogs of tenants read, on this machine. */
export class SourceServer {
  /** The text of each path. */
  readonly files = new Map<string, string>();

  readonly #server: Server;

  static async start(): Promise<SourceServer> {
    const started = new SourceServer();
    started.#server.listen(0, 'localhost');
    await once(started.#server, 'listening');
    return started;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const text = this.files.get(request.url ?? '');
      response.writeHead(text === undefined ? 404 : 200, {
        'content-type': 'application/yaml',
      });
      response.end(text);
    });
  }

  /** The host and port, as `backend.reading.allow` names it. */
  get host(): string {
    return `localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Serves a text, and says where. */
  serve(path: string, text: string): string {
    this.files.set(path, text);
    return `http://${this.host}${path}`;
  }

  /** The same for a component of this name. */
  serveComponent(
    path: string,
    name: string,
    annotations: Record<string, string> = {},
  ): string {
    return this.serveEntities(path, [
      {
        kind: 'Component',
        metadata: { name, description: `What ${name} does`, annotations },
        spec: { type: 'service', lifecycle: 'production', owner: 'guests' },
      },
    ]);
  }

  /** The same for several entities. */
  serveEntities(path: string, entities: object[]): string {
    const documents = entities.map(entity =>
      JSON.stringify({ apiVersion: 'backstage.io/v1alpha1', ...entity }),
    );
    return this.serve(path, documents.join('\n---\n'));
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
