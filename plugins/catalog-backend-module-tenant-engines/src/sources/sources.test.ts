import type { CatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { TestServer } from '@internal/catalog-testing/TestServer';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import {
  coreServices,
  createBackendModule,
  createServiceFactory,
  type RootLoggerService,
} from '@backstage/backend-plugin-api';
import { catalogProcessingExtensionPoint } from '@backstage/plugin-catalog-node';
import type { JsonObject } from '@backstage/types';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  type TenantEngines,
  tenantEnginesServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestListener, ServerResponse } from 'node:http';
import { createGzip, gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { componentYaml } from '../__testUtils__/SourceServer';
import { TenantsOfTest } from '../__testUtils__/TenantsOfTest';

const MIB = 1024 * 1024;

/** Up to the end of the request: nothing is sent that nobody waits for. */
function* repeated(text: string, times: number): Iterable<string> {
  for (let i = 0; i < times; i += 1) {
    yield text;
  }
}

const send =
  (text: string): RequestListener =>
  (_req, res) =>
    res.end(text);

const stream =
  (chunks: () => Iterable<string>): RequestListener =>
  (_req, res) => {
    Readable.from(chunks()).pipe(res);
  };

/** The components of a file, each with a name of its own. */
const components = (count: number, prefix = 'c') =>
  Array.from({ length: count }, (_, i) => componentYaml(`${prefix}-${i}`)).join(
    '---\n',
  );

const nested = (levels: number) =>
  `spec: ${'['.repeat(levels)}${']'.repeat(levels)}\n`;

/** Each list has the one before ten times. */
const aliases = () =>
  `a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n${Array.from(
    { length: 9 },
    (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(10)}]\n`,
  ).join('')}`;

const HARMFUL: [name: string, answer: RequestListener, message: string][] = [
  [
    'a list of four million lists',
    stream(function* lists() {
      yield 'spec:\n  x: [';
      yield* repeated('[],'.repeat(1000), 4000);
      yield ']\n';
    }),
    'is larger than 5,242,880 bytes, the bound of this portal (tenancy.engines.sources.maxBytes)',
  ],
  [
    'a list of four hundred thousand lists',
    send(`spec:\n  x: [${'[],'.repeat(400_000)}]\n`),
    'has more than 10,000 values, the bound of this portal (tenancy.engines.sources.maxValues)',
  ],
  ['a list of many lines', send(`x:\n${'  - a\n'.repeat(300_000)}`), 'values'],
  ['twenty thousand components', send(components(20_000)), 'entities'],
  ['lists inside each other', send(nested(10_000)), 'has more than 100 levels'],
  [
    'maps inside each other by indentation',
    send(
      Array.from({ length: 500 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
    ),
    'has more than 100 levels',
  ],
  ['aliases of aliases', send(aliases()), 'Excessive alias count'],
  [
    'a long text that aliases repeat',
    send(`a: &a "${'x'.repeat(MIB)}"\nb: [${'*a, '.repeat(90)}]\n`),
    'values',
  ],
  [
    'a file without an end',
    stream(() => repeated('# nothing\n'.repeat(1000), Infinity)),
    'bytes',
  ],
  [
    'a server that drips',
    (_req, res) => {
      const timer = setInterval(() => res.write('#'), 100);
      res.once('close', () => clearInterval(timer));
    },
    'took longer than 5,000 ms, the bound of this portal (tenancy.engines.sources.timeout)',
  ],
  ['a server that never answers', () => undefined, 'took longer than'],
  [
    'a server that begins and stops',
    (_req, res) => res.write('apiVersion: '),
    'took longer than',
  ],
  [
    'a circle of redirects',
    (req, res) => res.writeHead(302, { location: req.url }).end(),
    'redirect',
  ],
  [
    'a gigabyte in a megabyte',
    (_req, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' });
      const zip = createGzip();
      zip.pipe(res as ServerResponse);
      Readable.from(repeated('#'.repeat(MIB), 1024)).pipe(zip);
    },
    'is sent compressed (gzip), although the request asks for it as it is',
  ],
  [
    'a location of very many targets',
    send(
      `apiVersion: backstage.io/v1alpha1\nkind: Location\nmetadata: { name: many }\n` +
        `spec: { type: url, targets: [${"'./a.yaml', ".repeat(1_001)}] }\n`,
    ),
    'The location has more than 1,000 targets, the bound of this portal (tenancy.engines.sources.maxEntities)',
  ],
  ['what is not YAML', send('{{{{'), 'YAML'],
  [
    'a zip file',
    (_req, res) => res.end(gzipSync(Buffer.alloc(1000))),
    'Expected object at root, got string',
  ],
];

/** A logger that keeps the warnings of the backend. */
function recordWarnings(logged: JsonObject[]) {
  const create = (context: JsonObject): RootLoggerService => ({
    error: () => undefined,
    warn: (message, meta) =>
      logged.push({ ...context, ...meta, message } as JsonObject),
    info: () => undefined,
    debug: () => undefined,
    child: more => create({ ...context, ...more }),
  });
  return createServiceFactory({
    service: coreServices.rootLogger,
    deps: {},
    factory: () => create({}),
  });
}

const THROWING = '/throwing.yaml';

const throwingReader = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'throwing-reader',
  register: env =>
    env.registerInit({
      deps: { processing: catalogProcessingExtensionPoint },
      init: async ({ processing }) =>
        processing.addProcessor({
          getProcessorName: () => 'ThrowingReader',
          getPriority: () => 0,
          async readLocation({ target }) {
            if (target.endsWith(THROWING)) {
              throw new Error('The reader throws');
            }
            return false;
          },
        }),
    }),
});

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('a source of a tenant on %s', id => {
  const logged: JsonObject[] = [];
  const answers = new Map<string, RequestListener>();
  let source: TestServer;
  let tenants: TenantsOfTest;
  let backend: CatalogBackend;
  let running: TenantEngines;

  const urlOf = (path: string, answer: RequestListener) => {
    answers.set(path, answer);
    return `${source.url}${path}`;
  };
  const register = (target: string, query = '') =>
    backend.as('acme').post(`/locations${query}`, { type: 'url', target });
  const tryOut = (target: string) => register(target, '?dryRun=true');

  beforeAll(async () => {
    source = await new TestServer((req, res) =>
      answers.get(req.url!.replace(/\?.*/, ''))!(req, res),
    ).listen();
    tenants = await TenantsOfTest.create(databases, id, ['acme', 'globex']);
    await tenants.client.query(
      `update tenancy.tenants set max_entities = 30 where tenant_slug = 'acme'`,
    );
    const started = await tenants.start(
      { engines: tenantEnginesServiceRef },
      {
        config: {
          backend: { reading: { allow: [{ host: source.host }] } },
          tenancy: {
            engines: {
              sources: { timeout: { seconds: 5 }, maxEntityBytes: MIB },
            },
          },
        },
        features: [recordWarnings(logged)],
        modules: [throwingReader],
      },
    );
    backend = started.backend;
    running = started.services.engines;
    await eventually(async () => {
      await backend.as('acme').get('/locations').expect(200);
    });
  });

  afterAll(async () => {
    await tenants.close();
    await source.stop();
  });

  it.each(HARMFUL)(
    'is refused with what is wrong with it, while others are answered: %s',
    async (name, answer, message) => {
      const target = urlOf(`/${HARMFUL.findIndex(h => h[0] === name)}`, answer);
      const refused = tryOut(target).then(response => response);
      await backend.as('globex').get('/entities').expect(200);
      const { body, status } = await refused;
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringContaining(message),
      ]);
    },
  );

  it('shows what is wrong with it and its entities, in the words in which a try is refused, and logs it', async () => {
    await backend.tenants.create({
      tenant_slug: 'umbrella',
      tenant_name: 'Umbrella',
    });
    await eventually(async () => {
      await backend.as('umbrella').get('/locations').expect(200);
    });
    const gone: RequestListener = (_req, res) => res.writeHead(404).end();
    const targets = [
      urlOf('/good.yaml', send(componentYaml('good'))),
      urlOf('/a-name.yaml', send(componentYaml('an invalid name'))),
      urlOf('/gone.yaml', gone),
      urlOf('/no.yaml', send('{{{{')),
      // What PostgreSQL can't decode.
      urlOf(
        '/odd.yaml',
        send(
          componentYaml('odd name').replace(
            'metadata:',
            'metadata:\n  title: "\\0 \\ud800"',
          ),
        ),
      ),
    ];
    const expected = new Map<string, string>();
    for (const target of targets) {
      await backend
        .as('umbrella')
        .post('/locations', { type: 'url', target })
        .expect(201);
      const { body } = await backend
        .as('umbrella')
        .post('/locations?dryRun=true', { type: 'url', target });
      if (body.error) {
        expected.set(target, body.error.message);
      }
    }
    expect(expected.size).toBe(4);
    const { tenant_id } = (await backend.tenants.get('umbrella'))!;
    await eventually(async () => {
      const report = await running.report(tenant_id);
      const source_errors = report.source_errors!;
      expect(report.source_error_count).toBe(4);
      for (const { location, message, next_try_at } of source_errors) {
        expect(location && expected.get(location)).toContain(message);
        expect(Date.parse(next_try_at)).toBeGreaterThan(Date.now());
        expect(logged).toContainEqual(
          expect.objectContaining({
            tenant: 'umbrella',
            message: expect.stringContaining(message),
          }),
        );
      }
      expect(new Set(source_errors.map(({ location }) => location))).toEqual(
        new Set(expected.keys()),
      );
    });

    // It is tried again once it is refreshed, as the page does.
    const { source_errors } = await running.report(tenant_id);
    const refOf = source_errors!.find(
      ({ location }) => location === targets[1],
    );
    answers.set('/a-name.yaml', send(componentYaml('a-valid-name')));
    await backend
      .as('umbrella')
      .post('/refresh', { entityRef: refOf!.entity_ref })
      .expect(200);
    await eventually(async () => {
      expect((await running.report(tenant_id)).source_error_count).toBe(3);
    });
  });

  it('has no more entities than its tenant may have when it is tried out, those of its locations among them', async () => {
    const targets = Array.from({ length: 4 }, (_, i) =>
      urlOf(`/part-${i}.yaml`, send(components(i === 3 ? 20 : 5, `p${i}`))),
    );
    const location = (count: number) =>
      urlOf(
        `/all-${count}.yaml`,
        send(
          `apiVersion: backstage.io/v1alpha1\nkind: Location\nmetadata: { name: all }\n` +
            `spec: { type: url, targets: ${JSON.stringify(
              targets.slice(0, count),
            )} }\n`,
        ),
      );
    const { body } = await tryOut(location(3)).expect(201);
    expect(body.entities).toHaveLength(17);
    const refused = await tryOut(location(4)).expect(400);
    expect(refused.body.error.message).toContain('entities');
  });

  it('brings ten times the bound at most with all of its targets, also if another location has the same', async () => {
    const many = send(components(1000, 'same'));
    const targets = Array.from({ length: 11 }, (_, i) =>
      urlOf(`/thousand-${i}.yaml`, many),
    );
    const location = (name: string) =>
      urlOf(
        `/${name}.yaml`,
        send(
          `apiVersion: backstage.io/v1alpha1\nkind: Location\nmetadata: { name: ${name} }\n` +
            `spec: { type: url, targets: { $yaml: ./targets-${name}.yaml } }\n`,
        ),
      );
    const { tenant_id } = (await backend.tenants.get('globex'))!;
    const all = ['twin-a', 'twin-b'];
    for (const name of all) {
      urlOf(`/targets-${name}.yaml`, send(JSON.stringify(targets)));
      await backend
        .as('globex')
        .post('/locations', { type: 'url', target: location(name) })
        .expect(201);
    }
    await eventually(async () => {
      const { source_errors } = await running.report(tenant_id);
      expect(source_errors!.map(({ message }) => message)).toEqual(
        all.map(() =>
          expect.stringContaining(
            'The targets of the location have more than 10,000 entities together',
          ),
        ),
      );
    });
    await expect(
      backend.as('globex').get('/entities?filter=kind=component').expect(200),
    ).resolves.toMatchObject({ body: [] });
  });

  it('names no further ones without an end', async () => {
    await backend.tenants.create({
      tenant_slug: 'soylent',
      tenant_name: 'Soylent',
    });
    const { tenant_id } = (await backend.tenants.get('soylent'))!;
    await tenants.client.query(
      `update tenancy.tenants set max_entities = 2 where tenant_id = $1`,
      [tenant_id],
    );
    let version = 'one';
    const target = urlOf('/chain.yaml', (req, res) => {
      const number = Number(/\d+$/.exec(req.url!)![0]);
      res.end(
        `apiVersion: backstage.io/v1alpha1\nkind: Location\n` +
          `metadata: { name: chain-${number}, title: ${version} }\n` +
          `spec: { type: url, target: '${source.url}/chain.yaml?${
            number + 1
          }' }\n`,
      );
    });
    const post = (path: string, body: object) =>
      backend.as('soylent').post(path, body);
    await eventually(async () => {
      await post('/locations', { type: 'url', target: `${target}?1` }).expect(
        201,
      );
    });
    const message =
      'The engine of the tenant has more than 4 entities, 2 times max_entities: no location may bring more than before. Remove some, or have max_entities raised';
    await eventually(async () => {
      const { source_errors } = await running.report(tenant_id);
      expect(source_errors).toEqual([
        expect.objectContaining({
          entity_ref: 'location:default/chain-4',
          message: expect.stringContaining(message),
        }),
      ]);
    });
    const refused = await post('/locations', {
      type: 'url',
      target: `${target}?100`,
    }).expect(400);
    expect(refused.body.error.message).toBe(message);
    const { rows } = await tenants.client.query(
      `select event, outcome, error from tenancy.tenant_audit
        where tenant_id = $1 and outcome = 'failed'`,
      [tenant_id],
    );
    expect(rows).toEqual([
      {
        event: 'location-mutate',
        outcome: 'failed',
        error: `InputError: ${message}`,
      },
    ]);
    // What it has already is read as before.
    version = 'two';
    await post('/refresh', {
      entityRef: 'location:default/chain-1',
    }).expect(200);
    await eventually(async () => {
      const { body } = await backend
        .as('soylent')
        .get('/entities/by-name/location/default/chain-1')
        .expect(200);
      expect(body.metadata.title).toBe('two');
    });
  });

  it('is tried out a few times at once by each tenant', async () => {
    const held: { url: string; res: ServerResponse }[] = [];
    const target = urlOf('/held.yaml', (req, res) => {
      held.push({ url: req.url!, res });
    });
    const tries = Array.from({ length: 6 }, (_, i) =>
      tryOut(`${target}?acme-${i}`).then(({ status }) => status),
    );
    await waitUntil('some tries', () => held.length >= 4);
    const other = backend
      .as('globex')
      .post('/locations?dryRun=true', {
        type: 'url',
        target: `${target}?globex`,
      })
      .then(({ status }) => status);
    await waitUntil('that of another tenant', () =>
      held.some(({ url }) => url.endsWith('globex')),
    );
    expect(held).toHaveLength(5);
    urlOf('/held.yaml', send(componentYaml('held')));
    held.forEach(({ res }) => res.end(componentYaml('held')));
    await expect(Promise.all([other, ...tries])).resolves.toEqual(
      Array(7).fill(201),
    );
  });

  it('is not noted as under way any more after its reader threw', async () => {
    await backend.tenants.create({
      tenant_slug: 'stark',
      tenant_name: 'Stark',
    });
    const { tenant_id } = (await backend.tenants.get('stark'))!;
    await eventually(async () => {
      await backend
        .as('stark')
        .post('/locations', {
          type: 'url',
          target: `${source.url}${THROWING}`,
        })
        .expect(201);
    });
    await eventually(async () => {
      const { source_errors } = await running.report(tenant_id);
      expect(source_errors).toEqual([
        expect.objectContaining({
          message: expect.stringContaining('The reader throws'),
        }),
      ]);
    });
    await eventually(async () => {
      const { rows } = await tenants.client.query(
        `select * from "${engineSchemaOf(tenant_id)}".tenancy_reads_under_way`,
      );
      expect(rows).toEqual([]);
    });
  });

  it('is read with the YAML that it names by $yaml, within the bounds', async () => {
    urlOf('/team/below/api.yaml', send('openapi: 3.1.0\n'));
    urlOf('/team/below/large.yaml', send(`x: [${'[],'.repeat(400_000)}]\n`));
    const api = (definition: string) =>
      urlOf(
        '/team/api.yaml',
        send(
          `apiVersion: backstage.io/v1alpha1\nkind: API\nmetadata: { name: api, annotations: { definition: '-' } }\n` +
            `spec: { type: openapi, lifecycle: production, owner: a, definition: x, more: { $yaml: ${definition} } }\n`,
        ),
      );
    const { body } = await tryOut(api('./below/api.yaml')).expect(201);
    expect(
      body.entities.find(({ kind }: { kind: string }) => kind === 'API').spec
        .more,
    ).toEqual({ openapi: '3.1.0' });
    for (const [definition, message] of [
      ['./below/large.yaml', 'values'],
      ['../other.yaml', 'beside the one of the entity'],
      [`${source.url}/other.yaml`, 'beside the one of the entity'],
      ['http://127.0.0.1:1/x.yaml', 'beside the one of the entity'],
    ]) {
      const refused = await tryOut(api(definition)).expect(400);
      expect(refused.body.error.message).toContain(message);
    }
  });

  describe('that includes files by placeholders', () => {
    /** A file of entities, each of which includes a file so many times. */
    const including = (path: string, file: string, times: number[]) =>
      urlOf(
        path,
        send(
          times
            .map(
              (count, i) =>
                `${componentYaml(
                  `including-${i}`,
                )}  more: [${`{ ${file} }, `.repeat(count)}]\n`,
            )
            .join('---\n'),
        ),
      );
    let underWay = 0;
    let atOnce = 0;

    beforeAll(() => {
      urlOf('/large.txt', send('x'.repeat(4.5 * MIB)));
      urlOf('/medium.txt', (_req, res) => {
        underWay += 1;
        atOnce = Math.max(atOnce, underWay);
        setTimeout(() => {
          underWay -= 1;
          res.end('x'.repeat(300_000));
        }, 20);
      });
      urlOf('/small.txt', send('small'));
      urlOf('/small.json', send('{"a": [1, "b"]}'));
      urlOf('/large.json', send(`{"x": [${'[],'.repeat(400_000)}1]}`));
      urlOf('/no.json', send('{"x": '));
    });

    it('gets them, one after the other', async () => {
      const target = including('/some.yaml', '$text: ./medium.txt', [3]);
      const { body } = await tryOut(target).expect(201);
      const [, { spec }] = body.entities;
      expect(spec.more.map((text: string) => text.length)).toEqual(
        Array(3).fill(300_000),
      );
      expect(atOnce).toBe(1);
      const json = including('/json.yaml', '$json: ./small.json', [1]);
      const parsed = await tryOut(json).expect(201);
      expect(parsed.body.entities[1].spec.more).toEqual([{ a: [1, 'b'] }]);
    });

    it.each([
      [
        'too large together in a dry run',
        '$text: ./large.txt',
        [12],
        'have more than 52,428,800 bytes together',
      ],
      [
        'too many in a dry run',
        '$text: ./small.txt',
        [1_001],
        'Too many files are included by placeholders',
      ],
      [
        'with too many values',
        '$json: ./large.json',
        [1],
        'has more than 10,000 values',
      ],
      [
        'that are not JSON',
        '$json: ./no.json',
        [1],
        'found an error in the data at ./no.json',
      ],
    ])('is refused files %s', async (_, file, times, message) => {
      const target = including('/refused.yaml', file, times);
      const { body } = await tryOut(target).expect(400);
      expect(body.error.message).toContain(message);
    });

    it('has an error at each entity with more than a file or an entity may have, and at no other', async () => {
      await backend.tenants.create({
        tenant_slug: 'hooli',
        tenant_name: 'Hooli',
      });
      const { tenant_id } = (await backend.tenants.get('hooli'))!;
      await eventually(async () => {
        await backend.as('hooli').get('/locations').expect(200);
      });
      const titled = (name: string, length: number) =>
        componentYaml(name).replace(
          'metadata:',
          `metadata:\n  title: ${'x'.repeat(length)}`,
        );
      for (const target of [
        including('/two.yaml', '$text: ./large.txt', [2, 1]),
        urlOf(
          '/titled.yaml',
          send(
            [titled('titled', 2 * MIB), componentYaml('beside')].join('---\n'),
          ),
        ),
      ]) {
        await backend
          .as('hooli')
          .post('/locations', { type: 'url', target })
          .expect(201);
      }
      const tooLarge = expect.stringMatching(
        /^The entity has [2-5],[\d,]+ bytes as JSON, more than 1,048,576, the bound of this portal \(tenancy\.engines\.sources\.maxEntityBytes\)$/,
      );
      await eventually(async () => {
        const { source_errors } = await running.report(tenant_id);
        expect(source_errors).toEqual([
          expect.objectContaining({
            entity_ref: 'component:default/including-0',
            message: expect.stringContaining(
              'have more than 5,242,880 bytes together',
            ),
          }),
          expect.objectContaining({
            entity_ref: 'component:default/including-1',
            message: tooLarge,
          }),
          expect.objectContaining({
            entity_ref: 'component:default/titled',
            message: tooLarge,
          }),
        ]);
      });
      await eventually(async () => {
        const { body } = await backend
          .as('hooli')
          .get('/entities?filter=kind=component')
          .expect(200);
        expect(body).toEqual([
          expect.objectContaining({
            metadata: expect.objectContaining({ name: 'beside' }),
          }),
        ]);
      });
      // The engine reads at each processing what it has stored.
      const { rows } = await tenants.client.query(
        `select max(length(unprocessed_entity)) as longest from "${engineSchemaOf(
          tenant_id,
        )}".refresh_state`,
      );
      expect(rows[0].longest).toBeLessThan(MIB);
    });
  });
});
