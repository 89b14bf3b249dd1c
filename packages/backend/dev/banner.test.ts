import { ConfigReader } from '@backstage/config';
import { JsonValue } from '@backstage/types';
import { banner, firstCommands } from './banner';
import { readSettings, Settings } from './settings';

function settingsOf(connection?: JsonValue, auth = {}) {
  return readSettings(
    new ConfigReader({
      backend: {
        baseUrl: 'http://localhost:7007',
        database: { client: 'pg', connection },
      },
      auth,
    }),
  );
}

const PAGES = { hasPages: true };

describe('banner', () => {
  it('names one address to open first, and who may sign in there', () => {
    const guest = { providers: { guest: {} } };
    const [, first, second] = banner(
      withTenancy(settingsOf(undefined, guest), true),
      PAGES,
    ).split('\n');
    expect(first).toBe('Ready.  Portal    http://localhost:7007');
    expect(second).toMatch(/sign in as Anna, of Acme, as Peter, of Initech,/);
  });

  it('names no pages where none are served', () => {
    const text = banner(settingsOf(), { hasPages: false });
    expect(text).not.toContain('Portal');
    expect(text).toContain('Ready.  Catalog');
  });

  it('says where the data of the embedded database is', () => {
    expect(
      banner(settingsOf(), { embedded: '/clone/.postgres', hasPages: true }),
    ).toContain('embedded PostgreSQL, data in /clone/.postgres');
  });

  it.each([
    'postgresql://me:secret@db.example/x',
    { host: 'db.example', user: 'me', password: 'secret' },
  ])('names one’s own database without its password: %j', connection => {
    const text = banner(settingsOf(connection), PAGES);
    expect(text).toContain('your own: db.example');
    expect(text).not.toContain('secret');
  });

  it('says whether there are tenants, and how to get them', () => {
    const settings = settingsOf();
    expect(banner(withTenancy(settings, true), PAGES)).toContain(
      'http://localhost:7007/api/tenants',
    );
    expect(banner(withTenancy(settings, false), PAGES)).toContain(
      'off (leave out MULTI_TENANCY_ENABLED=false)',
    );
  });

  it('names a flag that is off although it looks like on', () => {
    const settings = readSettings(
      new ConfigReader({
        backend: {
          baseUrl: 'http://localhost:7007',
          database: { client: 'pg' },
        },
        tenancy: { enabled: 'TRUE' },
      }),
    );
    expect(banner(settings, PAGES)).toContain(
      'off (MULTI_TENANCY_ENABLED is "TRUE", which is not "true")',
    );
  });

  it('shows a first request only where a guest can make it', () => {
    const guest = { providers: { guest: {} } };
    expect(banner(settingsOf(undefined, guest), PAGES)).toContain(
      'TOKEN=$(curl',
    );
    expect(banner(settingsOf(), PAGES)).not.toContain('curl');
  });

  it('asks the same URL for two tenants, where there are any', () => {
    const settings = settingsOf();
    const [, one, other] = firstCommands(withTenancy(settings, true));
    expect(one).toContain('http://localhost:7007/api/catalog/entities?');
    expect(other).toBe(`${one} -H 'X-Tenant-Slug: acme'`);
    expect(firstCommands(withTenancy(settings, false)).join()).not.toContain(
      'X-Tenant-Slug',
    );
  });
});

function withTenancy(settings: Settings, enabled: boolean): Settings {
  return { ...settings, tenancy: { ...settings.tenancy, enabled } };
}
