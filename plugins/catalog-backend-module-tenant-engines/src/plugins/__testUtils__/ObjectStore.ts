import { TestServer } from '@internal/catalog-testing/TestServer';

/** Stands in for S3, with one bucket, as far as the publisher of TechDocs calls it. */
export class ObjectStore extends TestServer {
  readonly objects = new Map<string, Buffer>();

  constructor() {
    super(async (req, res) => {
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

  #list(prefix: string): string {
    const contents = [...this.objects.keys()]
      .filter(key => key.startsWith(prefix))
      .map(key => `<Contents><Key>${key}</Key></Contents>`);
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join(
      '',
    )}</ListBucketResult>`;
  }
}
