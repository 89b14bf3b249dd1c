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

  it.each([
    'postgresql://me:secret@db.example/x',
    { host: 'db.example', user: 'me', password: 'secret' },
  ])('names one’s own database without its password: %j', connection => {
    const text = banner(settingsOf(connection), PAGES);
    expect(text).toContain('your own: db.example');
    expect(text).not.toContain('secret');
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
