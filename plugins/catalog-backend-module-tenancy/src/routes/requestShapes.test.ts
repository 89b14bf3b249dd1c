import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import { component } from '@internal/catalog-testing/entities';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { type Answer, sendRaw } from '../resolution/__testUtils__/send';
import { SECRET } from '../resolution/__testUtils__/tokens';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = ['default', 'acme', 'globex'];
const DOMAIN = 'portal.example.com';
const INTERNAL = 'backstage.portal.svc.cluster.local';
const USER = mockCredentials.user.header();

/** What a part of a request says: a tenant, nothing, or how it is refused. */
type Verdict = 'default' | 'acme' | 'globex' | undefined | 400 | 403;

interface Part {
  lines: string[];
  verdict: Verdict;
}

const part = (verdict: Verdict, ...lines: string[]): Part => ({
  lines,
  verdict,
});
const host = (verdict: Verdict, ...values: string[]) =>
  part(verdict, ...values.map(value => `Host: ${value}`));

/** Some of each kind: `resolution` tells of all. */
const HOSTS = [
  host('acme', `acme.${DOMAIN}`),
  host('globex', `GLOBEX.${DOMAIN.toUpperCase()}.:7007`),
  host('default', `default.${DOMAIN}`),
  host(undefined, DOMAIN),
  // By which the discovery service has plugins find each other.
  host(undefined, `${INTERNAL}:7007`),
  // No tenant, and none of the portal's.
  host(403, `nobody.${DOMAIN}`),
  host(403, `acme.${INTERNAL}`),
  host(403, 'acme.evil.com'),
  // No host, and several.
  host(400, `acme.${DOMAIN}@${DOMAIN}`),
  host(400, `acme.${DOMAIN}`, `globex.${DOMAIN}`),
];

const SLUGS = [
  part(undefined),
  part('acme', 'X-Tenant-Slug: acme'),
  part(403, 'X-Tenant-Slug: acme', 'X-Tenant-Slug: globex'),
];

/** By Backstage, and as specified. */
const ERRORS = { 400: 'InputError', 403: 'Invalid tenant' };

function refusalIn({ status, text }: Answer) {
  const error = text === '' ? undefined : JSON.parse(text).error;
  return { status, error: error?.name ?? error };
}

/** Undefined is what comes of it where nothing is named. */
const expectedOf = (...verdicts: Verdict[]) =>
  verdicts.find(verdict => verdict !== undefined) ?? 'default';

const READS: Array<[method: string, path: string, body?: object]> = [
  ['GET', '/entities'],
  ['GET', '/entities?limit=1000'],
  ['GET', '/entities/by-query'],
  ['POST', '/entities/by-query', {}],
  ['GET', '/entity-facets?facet=metadata.name'],
  ['POST', '/entity-facets', { facets: ['metadata.name'] }],
  ['GET', '/entities/by-name/component/default/shared'],
  ['GET', '/entities/by-name/component/default/shared/ancestry'],
  [
    'POST',
    '/entities/by-refs',
    {
      entityRefs: [
        'component:default/shared',
        ...TENANTS.map(slug => `component:default/of-${slug}`),
      ],
    },
  ],
];

const OTHERS: Array<[method: string, path: string, body?: object]> = [
  ['HEAD', '/entities'],
  ['OPTIONS', '/entities'],
  ['GET', '/entities/by-uid/7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  ['DELETE', '/entities/by-uid/7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  ['POST', '/refresh', { entityRef: 'component:default/shared' }],
  ['GET', '/locations'],
  ['POST', '/locations', { type: 'url', target: 'http://localhost:1/a.yaml' }],
  ['POST', '/validate-entity', { entity: {}, location: 'url:x' }],
  ['POST', '/analyze-location', { location: { type: 'url', target: 'x' } }],
  ['GET', '/.well-known/backstage/permissions/metadata'],
  ['POST', '/.well-known/backstage/permissions/apply-conditions', {}],
  ['GET', '/openapi.json'],
  ['GET', '/nothing/like/this'],
];

// What resolution decides, before anything depends on the version of the database.
describe.each(databases.eachSupportedId().slice(-1))(
  'requests of any shape, with base domains, on %s',
  id => {
    let backend: CatalogBackend;

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [
          createServiceFactory({
            service: coreServices.discovery,
            deps: {},
            factory: () => ({
              getBaseUrl: async plugin => `http://${INTERNAL}/api/${plugin}`,
              getExternalBaseUrl: async plugin =>
                `https://${DOMAIN}/api/${plugin}`,
            }),
          }),
        ],
        config: {
          tenancy: { baseDomains: [DOMAIN], jwtSecret: SECRET },
        },
      });
      const entities = (slug: string) => [
        component(`of-${slug}`),
        component('shared', {
          metadata: { name: 'shared', title: `of-${slug}` },
        }),
      ];
      await insertEntities(connection, DEFAULT_TENANT_ID, entities('default'));
      for (const slug of ['acme', 'globex']) {
        const { tenant_id } = await backend.tenants.create({
          tenant_slug: slug,
          tenant_name: slug,
        });
        await backend.write(tenant_id, {
          type: 'full',
          entities: entities(slug),
        });
      }
    });

    afterAll(() => backend.stop());

    const send = (
      [method, path, body]: [method: string, path: string, body?: object],
      lines: string[],
      origin = '',
    ): Promise<Answer> => {
      const json = body ? JSON.stringify(body) : '';
      return sendRaw(
        Number(backend.server.port()),
        [
          `${method} ${origin}/api/catalog${path} HTTP/1.1`,
          ...lines,
          ...(body
            ? [
                'Content-Type: application/json',
                `Content-Length: ${json.length}`,
              ]
            : []),
          `Connection: close\r\n\r\n${json}`,
        ].join('\r\n'),
      );
    };

    /** The tenants whose entities an answer shows, or its status. */
    const shownBy = ({ status, text }: Answer): string | number => {
      const shown = TENANTS.filter(slug => text.includes(`of-${slug}`));
      return status === 200 ? shown.join() : `${status} ${shown.join()}`.trim();
    };

    /** What differs from what each host, with each of the headers, is to show. */
    const differences = async (
      route: [method: string, path: string, body?: object],
    ) => {
      const wrong = [];
      for (const named of HOSTS) {
        for (const slug of SLUGS) {
          const lines = [...named.lines, ...slug.lines];
          const expected = expectedOf(named.verdict, slug.verdict);
          const shown = shownBy(
            await send(route, [...lines, `Authorization: ${USER}`]),
          );
          if (shown !== String(expected)) {
            wrong.push({ lines, expected, shown });
          }
        }
      }
      return wrong;
    };

    it.each(READS)(
      '%s %s shows the tenant that the host and the header name, or is refused',
      async (...route) => {
        await expect(differences(route)).resolves.toEqual([]);
      },
    );

    it.each([...READS, ...OTHERS])(
      '%s %s is refused for a host that is none, several or none of the portal',
      async (...route) => {
        for (const { lines, verdict } of HOSTS) {
          if (verdict !== 400 && verdict !== 403) {
            continue;
          }
          const answer = await send(route, [
            ...lines,
            `Authorization: ${USER}`,
          ]);
          expect({ lines, ...refusalIn(answer) }).toEqual({
            lines,
            status: verdict,
            error: route[0] === 'HEAD' ? undefined : ERRORS[verdict],
          });
        }
      },
    );
  },
);
