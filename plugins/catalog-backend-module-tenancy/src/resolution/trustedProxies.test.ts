import type { JsonValue } from '@backstage/types';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { startRootRouter } from './__testUtils__/startRootRouter';

const trusted: JsonValue[] = [true, 1, 'loopback', '127.0.0.1', ['loopback']];
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
    expect(
      outcomeOf(
        await backend.get({
          host: 'acme.portal.example',
          'x-forwarded-host': 'globex.portal.example',
          forwarded: 'host=globex.portal.example',
        }),
      ),
    ).toBe('acme');
    expect(
      outcomeOf(
        await backend.get({
          host: 'portal.example',
          'x-forwarded-host': 'globex.portal.example',
        }),
      ),
    ).toBe('default');
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

    // Express takes the first of several, which the outermost proxy wrote.
    expect(
      outcomeOf(await via('globex.portal.example, initech.portal.example')),
    ).toBe('globex');
    expect(
      outcomeOf(await via(['globex.portal.example', 'initech.portal.example'])),
    ).toBe('globex');
    expect(outcomeOf(await via(', globex.portal.example'))).toBe('default');
    await backend.stop();
  });
});
