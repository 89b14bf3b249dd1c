import { mockCredentials } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { InMemoryTenants } from '../resolution/__testUtils__/InMemoryTenants';
import { sendRaw } from '../resolution/__testUtils__/send';
import { sign } from '../resolution/__testUtils__/tokens';
import {
  classifiedPlugin,
  PATHS,
  startGatedBackend,
} from './__testUtils__/startGatedBackend';

const VARIABLE = 'MULTI_TENANCY_ENABLED';
const AWARE = `/api/aware${PATHS.open}`;
const UNAWARE = `/api/unaware${PATHS.open}`;

describe('the flag', () => {
  const before = process.env[VARIABLE];

  afterEach(() => {
    if (before === undefined) {
      delete process.env[VARIABLE];
    } else {
      process.env[VARIABLE] = before;
    }
  });

  async function start(tenancy: JsonObject) {
    const directory = new InMemoryTenants();
    const get = await startGatedBackend({
      directory,
      tenancy,
      features: [
        classifiedPlugin('aware', { tenantAware: true }),
        classifiedPlugin('unaware'),
      ],
    });
    return { directory, get };
  }

  /** What the plugin says that is tenant-aware, at the hostname of a tenant. */
  async function tenantAtAcme(tenancy: JsonObject) {
    const { get } = await start(tenancy);
    const { text } = await get(`/api/aware${PATHS.credentials}`, {
      host: 'acme.portal.example',
      authorization: mockCredentials.user.header(),
    });
    return text;
  }

  /** What both plugins say to requests that would name a tenant or be refused. */
  async function answersToAll(tenancy: JsonObject) {
    const { get, directory } = await start(tenancy);
    const answers = [];
    for (const headers of [
      { host: 'portal.example' },
      { host: 'acme.portal.example' },
      { host: 'unknown.portal.example' },
      { host: 'portal.example', 'x-tenant-slug': 'acme' },
      { host: 'portal.example', 'x-tenant-slug': 'Not A Slug' },
      {
        host: 'portal.example',
        authorization: `Bearer ${sign({ tenantSlug: 'acme' })}`,
      },
    ]) {
      answers.push(await get(AWARE, headers), await get(UNAWARE, headers));
    }
    for (const [target, ...headers] of [
      [AWARE, 'Host: acme.portal.example', 'Host: portal.example'],
      [`http://acme.portal.example${AWARE}`, 'Host: portal.example'],
      [AWARE, 'Host: no host'],
    ]) {
      const lines = [
        `GET ${target} HTTP/1.1`,
        ...headers,
        'Connection: close\r\n\r\n',
      ];
      answers.push(await sendRaw(get.port, lines.join('\r\n')));
    }
    return {
      texts: [...new Set(answers.map(({ text }) => text))],
      isVaried: answers.some(({ headers }) =>
        /tenant|authorization/i.test(headers.vary ?? ''),
      ),
      lookups: directory.lookups,
    };
  }

  const AS_WITHOUT_TENANTS = {
    texts: ['"default"', '"reached"'],
    isVaried: false,
    lookups: [],
  };

  const OFF = [
    ...['TRUE', 'True', 'tRUE', ' true', 'true ', '"true"'],
    ...['1', 'yes', 'on', 'enabled', 'false', '', ' '],
    ...[false, undefined],
  ];

  it.each(['true', true])('is on: tenancy.enabled %j', async enabled => {
    delete process.env[VARIABLE];
    expect(await tenantAtAcme({ enabled })).toBe('"acme"');
  });

  it.each(OFF)(
    'is off: tenancy.enabled %j; every request is the default tenant, and nothing is looked up',
    async enabled => {
      delete process.env[VARIABLE];
      expect(await answersToAll({ enabled })).toEqual(AS_WITHOUT_TENANTS);
    },
  );
});
