import { createHmac, generateKeyPairSync } from 'node:crypto';
import { mockServices } from '@backstage/backend-test-utils';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import {
  assemble,
  seconds,
  SECRET,
  sign,
  signWithHeader,
} from './__testUtils__/tokens';
import { TenantTokens } from './TenantTokens';

const GLOBEX = { tenantSlug: 'globex' };
const VALID = sign(GLOBEX);
const HOST = 'portal.example';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicPem = rsa.publicKey.export({ type: 'spki', format: 'pem' });

function tampered(): string {
  const [header, , signature] = sign({ tenantSlug: 'acme' }).split('.');
  const [, payload] = VALID.split('.');
  return [header, payload, signature].join('.');
}

function signedWithNothing(): string {
  const unsigned = assemble({ alg: 'HS256', typ: 'JWT' }, GLOBEX).slice(0, -1);
  return `${unsigned}.${createHmac('sha256', '')
    .update(unsigned)
    .digest('base64url')}`;
}

function setSecret(secret: string | undefined): void {
  if (secret === undefined) {
    delete process.env.JWT_SECRET;
  } else {
    process.env.JWT_SECRET = secret;
  }
}

const ACCEPTED: Array<[string, string]> = [
  ['a valid token', `Bearer ${VALID}`],
  ['the scheme in upper case', `BEARER ${VALID}`],
  ['several spaces, as Backstage allows them', `Bearer   ${VALID}`],
  ['an expiry to come', `Bearer ${sign({ ...GLOBEX, exp: seconds(600) })}`],
  [
    'parameters in the header that are not critical',
    `Bearer ${signWithHeader({ kid: '1', b64: true }, GLOBEX)}`,
  ],
];

const IGNORED: Array<[string, string]> = [
  // The header.
  ['no scheme', VALID],
  ['another scheme', `Basic ${VALID}`],
  ['no token', 'Bearer'],
  ['something after the token', `Bearer ${VALID} x`],
  ['a list', `Bearer ${VALID}, Bearer ${VALID}`],
  ['no JSON Web Token', 'Bearer globex'],
  [
    'an expiry that is no number',
    `Bearer ${sign(JSON.stringify({ ...GLOBEX, exp: '9999999999' }))}`,
  ],
  // Signatures.
  ['another secret', `Bearer ${sign(GLOBEX, {}, `${SECRET}x`)}`],
  ['a payload of another token', `Bearer ${tampered()}`],
  ['no signature', `Bearer ${VALID.replace(/[^.]*$/, '')}`],
  // Algorithms.
  ['none', `Bearer ${assemble({ alg: 'none', typ: 'JWT' }, GLOBEX)}`],
  ['HS384', `Bearer ${sign(GLOBEX, { algorithm: 'HS384' })}`],
  ['RS256', `Bearer ${sign(GLOBEX, { algorithm: 'RS256' }, rsa.privateKey)}`],
  [
    'ES256, as of a user of Backstage',
    `Bearer ${sign(
      { ...GLOBEX, sub: 'user:default/guest' },
      {
        algorithm: 'ES256',
        header: { alg: 'ES256', typ: 'vnd.backstage.user' },
      },
      ec.privateKey,
    )}`,
  ],
  // RFC 7515, section 4.1.11: of what is critical, nothing is understood here.
  ...[
    ['unknown'],
    ['b64'],
    // Neither of these may be listed: the parameter is not valid.
    ['alg'],
    [],
    'unknown',
  ].map((crit): [string, string] => [
    `crit ${JSON.stringify(crit)}`,
    `Bearer ${signWithHeader({ unknown: 1, b64: true, crit }, GLOBEX)}`,
  ]),
  // Claims.
  ['no claim', `Bearer ${sign({ sub: 'globex' })}`],
  ['a claim in another spelling', `Bearer ${sign({ tenantslug: 'globex' })}`],
  ['an empty claim', `Bearer ${sign({ tenantSlug: '' })}`],
  ['a claim that is a number', `Bearer ${sign({ tenantSlug: 1 })}`],
  ['a payload that is text', `Bearer ${sign('globex')}`],
];

describe('the slug in a token', () => {
  const directory = new InMemoryTenants();
  let backend: TenantBackend;

  beforeAll(async () => {
    backend = await startTenantBackend({ directory });
  });

  const get = (authorization: string) =>
    backend.get({
      host: HOST,
      authorization,
      'x-tenant-slug': 'initech',
    });

  it.each(ACCEPTED)('is taken: %s', async (_title, authorization) => {
    expect(outcomeOf(await get(authorization))).toBe('globex');
  });

  it.each(IGNORED)(
    'is none, and the next source decides: %s',
    async (_title, authorization) => {
      expect(outcomeOf(await get(authorization))).toBe('initech');
    },
  );

  it.each(['GLOBEX', ' globex', 'glo bex', 'globex\n', 'glob_ex', '../globex'])(
    'is refused where it can be no slug: %j',
    async tenantSlug => {
      directory.lookups = [];
      expect(outcomeOf(await get(`Bearer ${sign({ tenantSlug })}`))).toBe(
        REFUSED,
      );
      expect(directory.lookups).toEqual([]);
    },
  );
});

describe('the secret of tokens', () => {
  it.each([undefined, ''])(
    'that is not there, with JWT_SECRET %j: no token names a tenant',
    async secret => {
      const before = process.env.JWT_SECRET;
      setSecret(secret);
      const backend = await startTenantBackend({
        directory: new InMemoryTenants(),
        tenancy: { jwtSecret: undefined },
      });
      setSecret(before);
      for (const token of [
        VALID,
        assemble({ alg: 'HS256', typ: 'JWT' }, GLOBEX),
        assemble({ alg: 'none', typ: 'JWT' }, GLOBEX),
        signedWithNothing(),
      ]) {
        expect(
          outcomeOf(
            await backend.get({ host: HOST, authorization: `Bearer ${token}` }),
          ),
        ).toBe('default');
      }
    },
  );

  it('is refused where it is a public key, which others may have', () => {
    expect(() =>
      TenantTokens.create({
        secrets: [SECRET, publicPem.toString()],
        logger: mockServices.logger.mock(),
      }),
    ).toThrow(
      `Invalid configuration value at 'tenancy.jwtSecret': a PEM encoded key`,
    );
  });

  it.each<[string, string[]]>([
    [
      'a'.repeat(31),
      [expect.stringContaining(`'tenancy.jwtSecret' has 31 bytes`)],
    ],
    ['a'.repeat(32), []],
    ['\u00e4'.repeat(16), []],
  ])('%s: warnings of its length: %j', (secret, warnings) => {
    const logger = mockServices.logger.mock();
    TenantTokens.create({ secrets: [secret], logger });
    expect(logger.warn.mock.calls.flat()).toEqual(warnings);
    expect(JSON.stringify(logger.warn.mock.calls)).not.toContain(secret);
  });
});

it('a critical parameter is refused in a token that has expired too', () => {
  const tokens = TenantTokens.create({
    secrets: [SECRET],
    logger: mockServices.logger.mock(),
  });
  const expired = { ...GLOBEX, exp: seconds(-1) };
  expect(tokens.verify(signWithHeader({}, expired))).toEqual({
    ...GLOBEX,
    expired: true,
  });
  expect(
    tokens.verify(signWithHeader({ crit: ['unknown'], unknown: 1 }, expired)),
  ).toBeUndefined();
});

it('a secret is changed in steps: its tokens count for as long as it is listed', async () => {
  const [next, former] = ['next', 'former'].map(name => name.padEnd(32, '.'));
  const tokens = [next, former].map(secret => sign(GLOBEX, {}, secret));
  const outcomesWith = async (jwtSecret: string[]) => {
    const backend = await startTenantBackend({
      directory: new InMemoryTenants(),
      tenancy: { jwtSecret },
    });
    const answers = tokens.map(token =>
      backend.get({ host: HOST, authorization: `Bearer ${token}` }),
    );
    return (await Promise.all(answers)).map(outcomeOf);
  };
  // The file of the second one is empty before and after.
  expect(await outcomesWith([former, ''])).toEqual(['default', 'globex']);
  expect(await outcomesWith([next, former])).toEqual(['globex', 'globex']);
  expect(await outcomesWith([next, ''])).toEqual(['globex', 'default']);
});

describe('the time of a token', () => {
  const NOW = 1_800_000_000;
  const tokens = TenantTokens.create({
    secrets: [SECRET],
    logger: mockServices.logger.mock(),
  });

  beforeEach(() => jest.useFakeTimers({ now: NOW * 1000 + 500 }));
  afterEach(() => jest.useRealTimers());

  it.each([
    [{ exp: NOW + 1 }, { expired: false }],
    [{ exp: NOW }, { expired: true }],
    [{ exp: NOW - 1 }, { expired: true }],
    [{ nbf: NOW - 1 }, { expired: false }],
    [{ nbf: NOW }, { expired: false }],
    [{ nbf: NOW + 1 }, undefined],
    [{ nbf: NOW + 1, exp: NOW - 1 }, undefined],
  ])('is exact to the second: %j', (claims, expected) => {
    expect(tokens.verify(sign({ ...GLOBEX, ...claims, iat: NOW }))).toEqual(
      expected && { ...GLOBEX, ...expected },
    );
  });
});
