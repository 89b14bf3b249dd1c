import type { JsonValue } from '@backstage/types';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { startRootRouter } from './__testUtils__/startRootRouter';

const trusted: JsonValue[] = [true, ['loopback']];
const untrusted: Array<JsonValue | undefined> = [
  undefined,
  false,
  0,
  '10.0.0.0/8',
  ['10.0.0.1', '10.0.0.2'],
];

function start(trustProxy: JsonValue | undefined) {
  return startRootRouter({
    directory: new InMemoryTenants(),
    backend: trustProxy === undefined ? {} : { trustProxy },
  });
}

describe.each(untrusted)('with backend.trustProxy %j', trustProxy => {
  it('a forwarded host names no tenant', async () => {
    const backend = await start(trustProxy);
    for (const [host, forwarded, expected] of [
      ['acme.portal.example', 'globex.portal.example', 'acme'],
      ['portal.example', 'globex.portal.example', 'default'],
      ['acme.portal.example', 'a.example, b.example', 'acme'],
      ['acme.portal.example', 'user@a.example', 'acme'],
    ]) {
      const answer = await backend.get({
        host,
        'x-forwarded-host': forwarded,
        forwarded: `host=${forwarded}`,
      });
      expect(outcomeOf(answer)).toBe(expected);
    }
    await backend.stop();
  });
});

describe.each(trusted)('with backend.trustProxy %j', trustProxy => {
  it('a forwarded host names the tenant in place of the host', async () => {
    const backend = await start(trustProxy);
    const via = (forwarded: string | string[], host = 'acme.portal.example') =>
      backend.get({ host, 'x-forwarded-host': forwarded });

    expect(outcomeOf(await via('globex.portal.example'))).toBe('globex');
    expect(outcomeOf(await via('Globex.Portal.Example.:8443'))).toBe('globex');
    // The portal itself was asked for, by way of a host that has a name of its own.
    expect(outcomeOf(await via('portal.example'))).toBe('default');
    expect(outcomeOf(await via('[::1]:443'))).toBe('default');
    expect(outcomeOf(await via('', 'acme.portal.example'))).toBe('acme');
    expect(outcomeOf(await via('unknown.portal.example'))).toBe(REFUSED);
    expect(outcomeOf(await via('not_a_slug.portal.example'))).toBe(REFUSED);

    // What the proxy has said of one that is empty is nothing.
    expect(outcomeOf(await via(','))).toBe('acme');
    await backend.stop();
  });

  it.each<string | string[]>([
    'globex.portal.example, initech.portal.example',
    ', globex.portal.example',
    'portal.example, globex.portal.example',
    ['globex.portal.example', 'initech.portal.example'],
  ] as Array<string | string[]>)(
    'a forwarded host is refused with 400 where there are several: %j',
    async forwarded => {
      const backend = await start(trustProxy);
      const answer = await backend.get({
        host: 'acme.portal.example',
        'x-forwarded-host': forwarded,
      });
      expect(outcomeOf(answer)).toMatch(
        /^400 \{"error":\{"name":"InputError","message":"The header X-Forwarded-Host has several hosts/,
      );
      await backend.stop();
    },
  );

  it('a forwarded host alone is held against tenancy.baseDomains', async () => {
    const backend = await startRootRouter({
      directory: new InMemoryTenants(),
      backend: { trustProxy },
      tenancy: { baseDomains: ['portal.example'] },
    });
    const outcome = async (host: string, forwarded: string) =>
      outcomeOf(await backend.get({ host, 'x-forwarded-host': forwarded }));
    await expect(
      outcome('backstage.svc.internal', 'acme.portal.example'),
    ).resolves.toBe('acme');
    await expect(
      outcome('acme.portal.example', 'acme.elsewhere.example'),
    ).resolves.toBe(REFUSED);
    await expect(outcome('acme.portal.example', '10.0.0.1')).resolves.toBe(
      'default',
    );
    await backend.stop();
  });

  it('a forwarded host may be said twice', async () => {
    const backend = await start(trustProxy);
    for (const forwarded of [
      'globex.portal.example, Globex.portal.example.:443',
      ['globex.portal.example', 'globex.portal.example'],
    ]) {
      const answer = await backend.get({
        host: 'acme.portal.example',
        'x-forwarded-host': forwarded,
      });
      expect(outcomeOf(answer)).toBe('globex');
    }
    await backend.stop();
  });
});
