import { TestServer } from '@internal/catalog-testing/TestServer';

/** Serves what the catalogs of tenants read, on this machine. */
export class SourceServer extends TestServer {
  /** The text of each path. */
  readonly #files = new Map<string, string>();

  constructor() {
    super((request, response) => {
      const text = this.#files.get(request.url ?? '');
      response.writeHead(text === undefined ? 404 : 200, {
        'content-type': 'application/yaml',
      });
      response.end(text);
    });
  }

  /** Serves a text, and says where. */
  serve(path: string, text: string): string {
    this.#files.set(path, text);
    return `${this.url}${path}`;
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
}
