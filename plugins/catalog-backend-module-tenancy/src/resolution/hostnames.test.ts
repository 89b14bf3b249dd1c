import { DEFAULT_TENANT_SLUG } from 'backstage-plugin-catalog-tenancy-node';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { type Answer, sendRaw } from './__testUtils__/send';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';

/** Yields no slug, so that the header decides. */
const NOTHING = 'initech';

/** Backstage's answer to a bad request. */
const MALFORMED = '400 InputError: Invalid host';

type Row = [host: string, expected: string];

const INVARIABLY: Row[] = [
  // The portal itself, with or without tenants of its own.
  ['portal.example', NOTHING],
  ['PORTAL.example.:443', NOTHING],
  ['backstage.portal.example', NOTHING],
  // `www`, and an empty label.
  ['www.portal.example', NOTHING],
  ['.portal.example', NOTHING],
  // A single label.
  ['localhost', NOTHING],
  ['localhost:7007', NOTHING],
  // IPv4.
  ['127.0.0.1', NOTHING],
  ['0x7f.0.0.0x1', NOTHING],
  // IPv6.
  ['[::1]', NOTHING],
  ['[2001:DB8::1]:7007', NOTHING],
  // Neither an address nor a name, as browsers see it.
  ['acme.1', REFUSED],
  ['acme.0x', REFUSED],
  // What can be no host at all.
  ['::1', MALFORMED],
  ['[acme.portal.example]', MALFORMED],
  ['ac me.portal.example', MALFORMED],
  ['user@acme.portal.example', MALFORMED],
  ['portal.example:443@acme.portal.example', MALFORMED],
  ['\u00e4cme.portal.example', MALFORMED],
  ['acme%2eportal.example', MALFORMED],
  ['acme.portal.example/entities', MALFORMED],
  ['acme\\.portal.example', MALFORMED],
  ['http://acme.portal.example', MALFORMED],
  ['acme.portal.example:port', MALFORMED],
  ['acme.portal.example, globex.portal.example', MALFORMED],
];

const OF_THE_PORTAL: Row[] = [
  ['acme.portal.example', 'acme'],
  ['ACME.portal.example', 'acme'],
  ['acme.portal.example.', 'acme'],
  ['acme.portal.example:', 'acme'],
  ['unknown.portal.example', REFUSED],
  ['ac_me.portal.example', REFUSED],
];

const CONFIGURATIONS = [
  {
    title: 'without base domains',
    tenancy: {},
    hosts: [
      ...OF_THE_PORTAL,
      ['acme.globex.portal.example', 'acme'],
      ['acme.elsewhere.example', 'acme'],
      ['acme.localhost:7007', 'acme'],
      // No hostnames, though their first label is a slug.
      ['acme..portal.example', REFUSED],
      ['acme.portal.example..', REFUSED],
      // By its first label, which is empty.
      ['.acme.portal.example', NOTHING],
      ['www.elsewhere.example', NOTHING],
    ] as Row[],
  },
  {
    title: 'with base domains',
    tenancy: {
      baseDomains: [
        'portal.example',
        'eu.portal.example',
        'tenants.example',
        'localhost',
      ],
    },
    hosts: [
      ...OF_THE_PORTAL,
      ['tenants.example', NOTHING],
      // A base domain below another one is no tenant of that.
      ['eu.portal.example', NOTHING],
      ['acme.eu.portal.example', 'acme'],
      ['globex.tenants.example', 'globex'],
      ['acme.localhost:7007', 'acme'],
      ['www.eu.portal.example', NOTHING],
      // More than one label below a base domain.
      ['acme.globex.portal.example', REFUSED],
      ['acme.www.portal.example', REFUSED],
      ['.acme.portal.example', REFUSED],
      ['acme..portal.example', REFUSED],
      ['acme.portal.example..', REFUSED],
      // Below the host of a base URL, which is no base domain.
      ['acme.backstage.portal.example', REFUSED],
      // Below none, and none.
      ['elsewhere.example', REFUSED],
      ['acme.elsewhere.example', REFUSED],
      ['www.elsewhere.example', REFUSED],
      ['acme.portal.example.elsewhere.example', REFUSED],
      ['acme.xportal.example', REFUSED],
      ['acme.127.0.0.1.sslip.example', REFUSED],
    ] as Row[],
  },
];

function request(headers: string[], version = 'HTTP/1.1'): string {
  return [
    `GET /api/catalog/entities ${version}`,
    ...headers,
    `X-Tenant-Slug: ${NOTHING}`,
    'Connection: close\r\n\r\n',
  ].join('\r\n');
}

function hostOutcomeOf(answer: Answer): string {
  if (answer.status !== 400) {
    return outcomeOf(answer);
  }
  const { name, message } = JSON.parse(answer.text).error;
  return `400 ${name}: ${message.slice(0, 'Invalid host'.length)}`;
}

describe.each(CONFIGURATIONS)(
  'the slug in a hostname, $title',
  ({ tenancy, hosts }) => {
    const directory = new InMemoryTenants();
    let backend: TenantBackend;

    beforeAll(async () => {
      backend = await startTenantBackend({ directory, tenancy });
    });

    beforeEach(() => {
      directory.lookups = [];
    });

    it.each([...INVARIABLY, ...hosts])('%s: %s', async (host, expected) => {
      const { port } = backend;
      // As these bytes: a client would mend some of them.
      const answer = await sendRaw(port, request([`Host: ${host}`]));
      expect(hostOutcomeOf(answer)).toBe(expected);
      expect(directory.lookups).not.toContain(DEFAULT_TENANT_SLUG);
    });

    it.each([
      ['HTTP/1.0 without one', request([], 'HTTP/1.0')],
      ['HTTP/1.0 with an empty one', request(['Host:'], 'HTTP/1.0')],
      ['HTTP/1.1 with an empty one', request(['Host:'])],
    ])('is none in a request without a host: %s', async (_title, bytes) => {
      expect(outcomeOf(await sendRaw(backend.port, bytes))).toBe(NOTHING);
    });
  },
);

it.each(['app.baseUrl', 'backend.baseUrl'])(
  'a %s that is no URL keeps the backend from starting, and is named',
  async key => {
    const [section] = key.split('.');
    await expect(
      startTenantBackend({
        directory: new InMemoryTenants(),
        [section]: { baseUrl: 'portal example' },
      }),
    ).rejects.toThrow(
      `Invalid configuration value 'portal example' at '${key}', expected a URL`,
    );
  },
);
