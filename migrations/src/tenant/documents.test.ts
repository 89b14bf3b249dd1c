import { type AppConfig, ConfigReader } from '@backstage/config';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { documentsOf } from './documents';

type JsonObject = AppConfig['data'];

const ACME = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  slug: 'acme',
};
const ID = ACME.tenantId;

const of = (shared: JsonObject, own?: JsonObject) =>
  documentsOf(
    new ConfigReader({
      techdocs: { publisher: shared },
      ...(own && {
        tenancy: { plugins: { config: { techdocs: { publisher: own } } } },
      }),
    }),
    ACME,
  );

const inBucket = (bucketName: string, bucketRootPath?: string) => ({
  awsS3: { bucketName, ...(bucketRootPath && { bucketRootPath }) },
});

describe('the documents of a tenant', () => {
  it.each([
    ['docs', `docs-of-tenants/${ID}/`],
    ['docs/', `docs-of-tenants/${ID}/`],
  ])('are beside the root %s of a bucket', (root, prefix) => {
    expect(of({ type: 'awsS3', ...inBucket('b', root) })?.place).toBe(
      `s3://b/${prefix}`,
    );
  });

  it.each([
    [inBucket('b', 'of/${tenant.slug}'), 's3://b/of/acme/'],
    [inBucket('b-${tenant.id}'), `s3://b-${ID}/`],
    [inBucket('b-${tenant.slug}', '/docs/'), 's3://b-acme/'],
  ])('are where the operator has named a place: %j', (own, place) => {
    expect(
      of({ type: 'awsS3', ...inBucket('shared', 'docs') }, own)?.place,
    ).toBe(place);
  });

  it('are nowhere that others have, too', () => {
    const shared = { type: 'awsS3', ...inBucket('b', 'docs') };
    expect(of(shared, inBucket('b', 'of-all-tenants'))).toBeUndefined();
    expect(of({ type: 'awsS3', ...inBucket('b') })).toBeUndefined();
  });

  it.each([
    [
      'googleGcs',
      { bucketName: 'b', bucketRootPath: 'docs' },
      `gcloud storage rm --recursive "gs://b/docs-of-tenants/${ID}/**"`,
    ],
    [
      'azureBlobStorage',
      { containerName: 'docs', credentials: { accountName: 'portal' } },
      `az storage container delete --name docs-${ID} --account-name portal --auth-mode login`,
    ],
    [
      'openStackSwift',
      { containerName: 'docs' },
      `openstack container delete --recursive docs-${ID}`,
    ],
  ])('of %s are removed by a command', (type, settings, command) => {
    expect(of({ type, [type]: settings })).toEqual({
      place: expect.any(String),
      command,
    });
  });
});

describe('a bucket', () => {
  let server: Server;
  let keys: Set<string>;
  let endpoint: string;

  // As far as the client calls S3: a list of two, and a removal of several.
  beforeAll(async () => {
    server = createServer(async (req, res) => {
      const { searchParams } = new URL(req.url ?? '', 'http://store');
      const body = Buffer.concat(await req.toArray()).toString();
      if (req.method === 'POST') {
        const named = [...body.matchAll(/<Key>([^<]*)</g)];
        named.forEach(([, key]) => keys.delete(key));
        res.end('<DeleteResult/>');
        return;
      }
      const prefix = searchParams.get('prefix') ?? '';
      const found = [...keys].filter(key => key.startsWith(prefix));
      const contents = found
        .slice(0, 2)
        .map(key => `<Contents><Key>${key}</Key></Contents>`);
      res.end(`<ListBucketResult>${contents.join('')}</ListBucketResult>`);
    });
    await new Promise<void>(done => {
      server.listen(0, '127.0.0.1', done);
    });
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise(done => {
      server.close(done);
    });
  });

  const settings = (more: JsonObject = {}) => ({
    credentials: { accessKeyId: 'of', secretAccessKey: 'portal' },
    endpoint,
    region: 'eu-west-1',
    s3ForcePathStyle: true,
    ...more,
  });

  it('loses what is below the prefix of the tenant, and nothing else', async () => {
    const others = ['docs/a', `docs-of-tenants/${ID}-other/a`];
    keys = new Set([
      ...others,
      ...['a', 'b', 'c/d'].map(name => `docs-of-tenants/${ID}/${name}`),
    ]);
    const found = of({
      type: 'awsS3',
      awsS3: { bucketName: 'b', bucketRootPath: 'docs', ...settings() },
    });
    await expect(found?.remove?.()).resolves.toBe(true);
    expect([...keys]).toEqual(others);
  });

  it('is left alone with credentials that the command has not', async () => {
    keys = new Set([`docs-of-tenants/${ID}/a`]);
    const found = of({
      type: 'awsS3',
      awsS3: {
        bucketName: 'b',
        bucketRootPath: 'docs',
        ...settings({ accountId: '123456789012' }),
      },
    });
    await expect(found?.remove?.()).rejects.toThrow(
      'its credentials are of an account or a role',
    );
    expect(keys.size).toBe(1);
  });
});
