import {
  catalogEntityDeletePermission,
  catalogEntityReadPermission,
} from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { mockCredentials } from '@backstage/backend-test-utils';
import type { BackstageCredentials } from '@backstage/backend-plugin-api';
import { SharedDecisions } from './AuthorizedCatalogStore';

const TENANT = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const JANE = mockCredentials.user('user:default/jane');

/** Decides by the policy at the moment when it is asked, and answers when it is let. */
class PermissionBackend {
  result: AuthorizeResult.ALLOW | AuthorizeResult.DENY = AuthorizeResult.ALLOW;
  readonly underWay: Array<{ answer(): void; fail(error: Error): void }> = [];

  readonly authorizeConditional = () =>
    new Promise<PolicyDecision[]>((resolve, reject) => {
      const { result } = this;
      this.underWay.push({ answer: () => resolve([{ result }]), fail: reject });
    });
}

describe('SharedDecisions', () => {
  let backend: PermissionBackend;
  let decisions: SharedDecisions;

  beforeEach(() => {
    backend = new PermissionBackend();
    decisions = new SharedDecisions(backend);
  });

  const ask = ({
    authorization = 'Bearer of-jane',
    credentials = JANE,
    tenantId = TENANT,
    permission = catalogEntityReadPermission,
  }: {
    authorization?: string | null;
    credentials?: BackstageCredentials;
    tenantId?: string;
    permission?: typeof catalogEntityReadPermission;
  } = {}) =>
    decisions
      .of(
        { headers: authorization === null ? {} : { authorization } },
        tenantId,
      )
      .authorizeConditional([{ permission }], { credentials })
      .then(([{ result }]) => result);

  it('asks once for all requests of a user that come while it is asked', async () => {
    const first = ask();
    const others = [ask(), ask(), ask()];
    expect(backend.underWay).toHaveLength(1);
    backend.underWay[0].answer();
    await first;
    expect(backend.underWay).toHaveLength(2);
    backend.underWay[1].answer();
    await expect(Promise.all(others)).resolves.toEqual(
      others.map(() => AuthorizeResult.ALLOW),
    );
    expect(backend.underWay).toHaveLength(2);
    expect(decisions.size).toBe(0);
  });

  it('gives nobody a decision from before the request came', async () => {
    const first = ask();
    backend.result = AuthorizeResult.DENY;
    const second = ask();
    backend.underWay[0].answer();
    await expect(first).resolves.toBe(AuthorizeResult.ALLOW);
    backend.underWay[1].answer();
    await expect(second).resolves.toBe(AuthorizeResult.DENY);
    const third = ask();
    backend.underWay[2].answer();
    await expect(third).resolves.toBe(AuthorizeResult.DENY);
  });

  const OTHERS: Array<[string, Parameters<typeof ask>[0]]> = [
    ['another token of the same user', { authorization: 'Bearer another' }],
    [
      'another user, whatever the header says',
      { credentials: mockCredentials.user('user:default/joe') },
    ],
    ['another tenant', { tenantId: OTHER }],
    [
      'another permission',
      { permission: catalogEntityDeletePermission as never },
    ],
    ['a service', { credentials: mockCredentials.service('plugin:other') }],
    ['a request without a token in its header', { authorization: null }],
  ];

  it.each(OTHERS)('asks by itself for %s', async (_, other) => {
    const answers = [ask(), ask(other)];
    expect(backend.underWay).toHaveLength(2);
    backend.underWay.forEach(({ answer }) => answer());
    await Promise.all(answers);
  });

  it('asks for each request of a service, and of who has no token', async () => {
    for (const each of [
      { credentials: mockCredentials.service('plugin:other') },
      { authorization: null },
    ]) {
      const asked = backend.underWay.length;
      const answers = [ask(each), ask(each)];
      expect(backend.underWay).toHaveLength(asked + 2);
      backend.underWay.forEach(({ answer }) => answer());
      await Promise.all(answers);
    }
  });

  describe('where a decision may be a second old', () => {
    let now: number;

    beforeEach(() => {
      now = 5_000;
      decisions = new SharedDecisions(backend, {
        maxAgeMs: 1_000,
        clock: { now: () => now },
      });
    });

    it('asks anew a second after it has asked, however late it was answered', async () => {
      const asked = [ask(), ask()];
      expect(backend.underWay).toHaveLength(1);
      now += 600;
      backend.underWay[0].answer();
      await Promise.all(asked);
      backend.result = AuthorizeResult.DENY;
      now += 399;
      await expect(ask()).resolves.toBe(AuthorizeResult.ALLOW);
      expect(backend.underWay).toHaveLength(1);

      now += 2;
      const later = ask();
      expect(backend.underWay).toHaveLength(2);
      backend.underWay[1].answer();
      await expect(later).resolves.toBe(AuthorizeResult.DENY);
    });

    it('keeps no refusal', async () => {
      backend.result = AuthorizeResult.DENY;
      const first = ask();
      backend.underWay[0].answer();
      await expect(first).resolves.toBe(AuthorizeResult.DENY);
      backend.result = AuthorizeResult.ALLOW;
      const later = ask();
      backend.underWay[1].answer();
      await expect(later).resolves.toBe(AuthorizeResult.ALLOW);
    });

    it.each(OTHERS)('asks by itself for %s', async (_, other) => {
      const first = ask();
      backend.underWay[0].answer();
      await first;
      const answer = ask(other);
      expect(backend.underWay).toHaveLength(2);
      backend.underWay[1].answer();
      await answer;
    });
  });
});
