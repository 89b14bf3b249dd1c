import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands in for S3, with one bucket, as far as the publisher of TechDocs calls it. */
export class ObjectStore {
  readonly objects = new Map<string, Buffer>();
  readonly #server: Server;

  static async start(): Promise<ObjectStore> {
    const store = new ObjectStore();
    await new Promise<void>(resolve => {
      store.#server.listen(0, '127.0.0.1', resolve);
    });
    return store;
  }

  private constructor() {
    this.#server = createServer(async (req, res) => {
      const url = new URL(req.url ?? '', 'http://store');
      const key = decodeURIComponent(url.pathname.replace(/^\/[^/]*\/?/, ''));
      const parts: Buffer[] = [];
      for await (const part of req) {
        parts.push(part);
      }
      if (req.method === 'PUT') {
        this.objects.set(key, Buffer.concat(parts));
        res.end();
      } else if (key === '') {
        res.end(this.#list(url.searchParams.get('prefix') ?? ''));
      } else if (this.objects.has(key)) {
        res.end(this.objects.get(key));
      } else {
        res.statusCode = 404;
        res.end('<Error><Code>NoSuchKey</Code></Error>');
      }
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #list(prefix: string): string {
    const contents = [...this.objects.keys()]
      .filter(key => key.startsWith(prefix))
      .map(key => `<Contents><Key>${key}</Key></Contents>`);
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join(
      '',
    )}</ListBucketResult>`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => {
      this.#server.close(resolve);
    });
  }
}
