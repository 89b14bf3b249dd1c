import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { sendRaw } from './__testUtils__/send';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';

/** Yields no slug, so that the header decides. */
const NOTHING = 'initech';

type Row = [host: string, expected: string];

const INVARIABLY: Row[] = [
  // The portal itself, with or without tenants of its own.
  ['portal.example', NOTHING],
  ['portal.example:443', NOTHING],
  ['PORTAL.example.:443', NOTHING],
  ['backstage.portal.example', NOTHING],
  ['backstage.portal.example:7007', NOTHING],
  ['Backstage.Portal.Example.', NOTHING],
  // `www`, and an empty label.
  ['www.portal.example', NOTHING],
  ['WWW.portal.example:80', NOTHING],
  ['.portal.example', NOTHING],
  ['.acme.portal.example', NOTHING],
  ['.', NOTHING],
  [':7007', NOTHING],
  // A single label.
  ['localhost', NOTHING],
  ['localhost:7007', NOTHING],
  ['localhost.', NOTHING],
  ['acme', NOTHING],
  // IPv4.
  ['127.0.0.1', NOTHING],
  ['127.0.0.1:7007', NOTHING],
  ['10.1.2.3.', NOTHING],
  ['127.1', NOTHING],
  ['0x7f.0.0.0x1', NOTHING],
  // IPv6.
  ['[::1]', NOTHING],
  ['[::1]:7007', NOTHING],
  ['[2001:DB8::1]:7007', NOTHING],
  ['[::ffff:127.0.0.1]', NOTHING],
  ['[fe80::1%25eth0]:7007', NOTHING],
  ['::1', NOTHING],
  ['[acme.portal.example', NOTHING],
];

const OF_THE_PORTAL: Row[] = [
  ['acme.portal.example', 'acme'],
  ['acme.portal.example:7007', 'acme'],
  ['ACME.portal.example', 'acme'],
  ['Acme.Portal.Example:443', 'acme'],
  ['acme.portal.example.', 'acme'],
  ['acme.portal.example.:7007', 'acme'],
  ['acme.portal.example:', 'acme'],
  ['unknown.portal.example', REFUSED],
  ['xn--cme-pla.portal.example', REFUSED],
  ['ac_me.portal.example', REFUSED],
  ['ac me.portal.example', REFUSED],
  ['user@acme.portal.example', REFUSED],
  ['\u00e4cme.portal.example', REFUSED],
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
      ['acme.127.0.0.1.sslip.example', 'acme'],
      // No hostnames, though their first label is a slug.
      ['acme..portal.example', REFUSED],
      ['acme.portal.example..', REFUSED],
      ['acme.portal.example, globex.portal.example', REFUSED],
      ['acme.portal.example/entities', REFUSED],
      ['acme.portal .example', REFUSED],
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
      ['TENANTS.example.:7007', NOTHING],
      ['globex.tenants.example', 'globex'],
      ['acme.localhost:7007', 'acme'],
      ['acme.globex.portal.example', NOTHING],
      ['acme.elsewhere.example', NOTHING],
      ['acme.portal.example.elsewhere.example', NOTHING],
      ['acme.xportal.example', NOTHING],
      ['acme.example', NOTHING],
      ['acme..portal.example', NOTHING],
    ] as Row[],
  },
];

describe.each(CONFIGURATIONS)(
  'the slug in a hostname, $title',
  ({ tenancy, hosts }) => {
    const directory = new InMemoryTenants();
    let backend: TenantBackend;

    beforeAll(async () => {
      backend = await startTenantBackend({ directory, tenancy });
    });

    it.each([...INVARIABLY, ...hosts])('%s: %s', async (host, expected) => {
      const answer = await backend.get({ host, 'x-tenant-slug': 'initech' });
      expect(outcomeOf(answer)).toBe(expected);
    });

    it('is none in a request without a hostname', async () => {
      const answer = await sendRaw(
        backend.port,
        'GET /api/catalog/entities HTTP/1.0\r\n\r\n',
      );
      expect(answer).toContain('"tenantSlug":"default"');
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
