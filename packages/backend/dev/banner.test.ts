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

describe('banner', () => {
  it('says where the data of the embedded database is', () => {
    expect(banner(settingsOf(), '/clone/.postgres')).toContain(
      'embedded PostgreSQL, data in /clone/.postgres',
    );
  });

  it.each([
    'postgresql://me:secret@db.example/x',
    { host: 'db.example', user: 'me', password: 'secret' },
  ])('names one’s own database without its password: %j', connection => {
    const text = banner(settingsOf(connection));
    expect(text).toContain('your own: db.example');
    expect(text).not.toContain('secret');
  });

  it('says whether there are tenants, and how to get them', () => {
    const settings = settingsOf();
    expect(banner(withTenancy(settings, true))).toContain(
      'http://localhost:7007/api/tenants',
    );
    expect(banner(withTenancy(settings, false))).toContain(
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
    expect(banner(settings)).toContain(
      'off (MULTI_TENANCY_ENABLED is "TRUE", which is not "true")',
    );
  });

  it('shows a first request only where a guest can make it', () => {
    const guest = { providers: { guest: {} } };
    expect(banner(settingsOf(undefined, guest))).toContain('TOKEN=$(curl');
    expect(banner(settingsOf())).not.toContain('curl');
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
