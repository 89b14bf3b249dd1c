import {
  coreServices,
  createBackendModule,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import { catalogServiceRef } from '@backstage/plugin-catalog-node';
import { catalogServiceMock } from '@backstage/plugin-catalog-node/testUtils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  carriedTenant,
  DEFAULT_TENANT_SLUG,
  type TenancyPool,
  tenantInvitationsExtensionPoint,
} from 'backstage-plugin-catalog-tenancy-node';
import type { CreatedInvitation } from 'backstage-plugin-tenants-common';
import type { Caller } from '@internal/catalog-testing/caller';
import {
  ADMIN,
  ALICE,
  CI,
  startTenantsBackend,
  tellingAuditor,
  type TenantsBackend,
} from '../__testUtils__/startTenantsBackend';
import { TenancyDatabase } from '../__testUtils__/TenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const JOHN = 'user:default/john';
const TEAM = 'group:default/team';
const ACCEPT = '/mine/accepted-invitations';

const user = (name: string, email?: string) => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'User',
  metadata: { name, namespace: 'default' },
  spec: { profile: email ? { email } : {}, memberOf: [] },
});

describe.each(databases.eachSupportedId())('invitations on %s', id => {
  let database: TenancyDatabase;
  let pool: TenancyPool;
  let backend: TenantsBackend;
  const send = jest.fn();
  const audited = jest.fn();
  const asked = jest.fn();
  const warned = jest.fn();
  const identities = catalogServiceMock({
    entities: [
      user('jane', 'Jane@Example.com'),
      user('john', 'john@example.com'),
      user('alice'),
    ],
  });

  const by = (ref: string): Caller => backend.user(ref);

  beforeAll(async () => {
    database = await TenancyDatabase.create(databases, id);
    pool = database.createPool();
    backend = await startTenantsBackend({
      pool,
      config: {
        app: { baseUrl: 'https://portal.example/' },
        tenancy: { enabled: true, admins: [ADMIN, CI] },
      },
      features: [
        createServiceFactory({
          service: catalogServiceRef,
          deps: {},
          factory: () => ({
            ...identities,
            getEntityByRef: asked.mockImplementation((ref, options) =>
              identities.getEntityByRef(ref, options),
            ),
          }),
        }),
        mockServices.logger.mock({ warn: warned }).factory,
        tellingAuditor(audited),
        createBackendModule({
          pluginId: 'tenants',
          moduleId: 'mail',
          register(env) {
            env.registerInit({
              deps: {
                invitations: tenantInvitationsExtensionPoint,
                logger: coreServices.logger,
              },
              async init({ invitations }) {
                invitations.setSender({ send });
              },
            });
          },
        }),
      ],
    });
  });
  afterAll(() => database.close());

  beforeEach(async () => {
    send.mockReset();
    warned.mockReset();
    audited.mockReset();
    await database.fill();
  });

  const invite = async (
    request: object = { role: 'member' },
    { slug = 'acme', as = backend.admin } = {},
  ): Promise<CreatedInvitation> => {
    const { status, body } = await as.post(`/${slug}/invitations`, request);
    expect([status, body.error]).toEqual([201, undefined]);
    return body;
  };
  const accept = (caller: Caller, token: string) =>
    caller.post(ACCEPT, { token });
  const members = async (slug = 'acme') => {
    const { body } = await backend.admin.get(`/${slug}/members`);
    return body.map((each: any) => `${each.principal}: ${each.role}`);
  };

  const waiting = (least: number) =>
    waitUntil(`${least} to wait for the tenant`, async () => {
      // A transaction sees the activity of its first look otherwise.
      await database.client.query('select pg_stat_clear_snapshot()');
      const { rows } = await database.client.query(
        `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length >= least;
    });

  it('creates one, with a link that is told once, and keeps no more of the token than a hash', async () => {
    const created = await invite({ role: 'viewer', valid_days: 1 });
    const { token, link, sent, ...invitation } = created;
    expect(link).toBe(`https://portal.example/invitation#${token}`);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect(invitation).toMatchObject({
      role: 'viewer',
      email: null,
      created_by: ADMIN,
      state: 'open',
      accepted_by: null,
    });
    expect(
      Date.parse(created.expires_at) - Date.parse(created.created_at),
    ).toBe(24 * 3600 * 1000);
    expect(sent).toBe(false);

    const listed = await backend.admin.get('/acme/invitations');
    expect(listed.body).toEqual([invitation]);
    expect(listed.headers['x-total-count']).toBe('1');
    const { rows } = await database.client.query(
      'select row_to_json(i) as row from tenant_invitations i',
    );
    const kept = JSON.stringify(rows);
    expect(kept).not.toContain(token);
    expect(kept).not.toContain(Buffer.from(token, 'base64url').toString('hex'));
    expect(audited).toHaveBeenCalledWith({
      meta: { role: 'viewer', valid_days: 1 },
    });
    expect(JSON.stringify(audited.mock.calls)).not.toContain(token);
  });

  it('is accepted by one user who has the link, who gets the same answer again while a member', async () => {
    const { token } = await invite();
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const { status, body } = await accept(backend.alice, token);
      expect([status, body]).toEqual([
        201,
        { tenant_slug: 'acme', tenant_name: 'Acme', role: 'member' },
      ]);
    }
    expect(await members()).toEqual([`${ALICE}: member`]);
    // For the trail of the tenant, which the path does not name.
    expect(audited).toHaveBeenCalledWith({ meta: { slug: 'acme' } });
    expect(JSON.stringify(audited.mock.calls)).not.toContain(token);
    await backend.admin.delete(`/acme/members/${encodeURIComponent(ALICE)}`);
    for (const caller of [backend.alice, by(JANE)]) {
      expect((await accept(caller, token)).status).toBe(404);
    }
    expect(await members()).toEqual([]);
    const { body: listed } = await backend.admin.get('/acme/invitations');
    expect(listed).toEqual([
      expect.objectContaining({ state: 'accepted', accepted_by: ALICE }),
    ]);
  });

  it('is accepted by one of five who accept it twice at the same time', async () => {
    const { token } = await invite();
    // All have found it open before one of them goes on.
    await database.client.query('begin');
    await database.client.query(
      `select from tenants where tenant_slug = 'acme' for update`,
    );
    const accepting = Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        accept(by(`user:default/u${i % 5}`), token),
      ),
    );
    await waiting(2);
    await database.client.query('commit');
    const answers = await accepting;
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(2).fill(201),
      ...Array(8).fill(404),
    ]);
    expect(await members()).toHaveLength(1);
  });

  it.each([
    ['over', "expires_at = now() - interval '1 s'"],
    ['replaced by one with another token', "token_hash = sha256('another')"],
  ])(
    'lets nobody in where it is %s before the tenant can be changed',
    async (_what, change) => {
      const { token } = await invite();
      await database.client.query('begin');
      await database.client.query(
        `select from tenants where tenant_slug = 'acme' for update`,
      );
      const accepting = Promise.resolve(accept(by('user:default/u1'), token));
      await waiting(1);
      await database.client.query(`update tenant_invitations set ${change}`);
      await database.client.query('commit');
      expect((await accepting).status).toBe(404);
      expect(await members()).toEqual([]);
    },
  );

  it('lowers no role, and raises a lower one', async () => {
    const first = await invite({ role: 'admin' });
    await accept(by(JANE), first.token);
    const lower = await invite({ role: 'viewer' });
    const { body } = await accept(by(JANE), lower.token);
    expect(body.role).toBe('admin');
    await accept(by(JOHN), (await invite({ role: 'viewer' })).token);
    await accept(by(JOHN), (await invite({ role: 'member' })).token);
    expect(await members()).toEqual([`${JANE}: admin`, `${JOHN}: member`]);
  });

  it('is one, although its answer is lost and it is made again with the same Idempotency-Key', async () => {
    const make = (
      request: object,
      key = 'a key',
      { as = backend.admin, slug = 'acme' } = {},
    ) => as.post(`/${slug}/invitations`, request).set('Idempotency-Key', key);
    const lost = await make({ role: 'admin' });
    const made = await make({ role: 'member', email: 'jane@example.com' });
    expect([lost.status, made.status]).toEqual([201, 201]);
    expect(made.headers['cache-control']).toBe('no-store');
    const { token, link, sent, ...invitation } = made.body;
    const { body: listed } = await backend.admin.get('/acme/invitations');
    expect(listed).toEqual([invitation]);
    expect(invitation).toMatchObject({
      role: 'member',
      email: 'jane@example.com',
    });
    expect((await accept(by(JANE), lost.body.token)).status).toBe(404);
    expect((await accept(by(JANE), token)).status).toBe(201);
    expect((await make({ role: 'member' })).status).toBe(409);
    // Of another tenant, of another admin, and of another key.
    const ofGlobex = await make({ role: 'member' }, 'a key', {
      slug: 'globex',
    });
    expect(ofGlobex.status).toBe(201);
    await make({ role: 'member' }, 'a key', { as: backend.service(CI) });
    await make({ role: 'member' }, 'another');
    expect((await make({ role: 'member' }, '')).status).toBe(400);
    expect((await backend.admin.get('/acme/invitations')).body).toHaveLength(3);
  });

  it('are at most 500 of a tenant, however many are made at once', async () => {
    await database.client.query(
      `insert into tenant_invitations
         (invitation_id, tenant_id, token_hash, role, created_by, expires_at)
       select gen_random_uuid(), tenant_id, sha256(n::text::bytea), 'viewer', 'test',
              now() + interval '1 day'
         from tenants, generate_series(1, 497) n where tenant_slug = 'acme'`,
    );
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        backend.admin.post('/acme/invitations', { role: 'viewer' }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(3).fill(201),
      ...Array(17).fill(409),
    ]);
  });

  it('with an address, only the user accepts who has it in the identity catalog', async () => {
    const { token } = await invite({
      role: 'member',
      email: 'jane@EXAMPLE.com',
    });
    for (const other of [JOHN, ALICE, 'user:default/unknown']) {
      expect((await accept(by(other), token)).status).toBe(404);
    }
    expect((await accept(by(JANE), token)).status).toBe(201);
    expect(await members()).toEqual([`${JANE}: member`]);
    expect(carriedTenant(asked.mock.lastCall[1].credentials)).toMatchObject({
      tenantSlug: DEFAULT_TENANT_SLUG,
    });
  });

  it('goes to the sender of the backend, and stays where that fails', async () => {
    const request = { role: 'member', email: 'jane@example.com' };
    const { token, link, sent, expires_at } = await invite(request);
    expect(sent).toBe(true);
    expect(send.mock.calls).toEqual([
      [
        {
          email: 'jane@example.com',
          link,
          role: 'member',
          tenantSlug: 'acme',
          tenantName: 'Acme',
          invitedBy: ADMIN,
          expiresAt: expires_at,
        },
      ],
    ]);
    send.mockImplementation(async sending => {
      throw new Error(`no mail today with ${sending.link}`);
    });
    const other = await invite(request);
    expect(other.sent).toBe(false);
    const said = JSON.stringify(warned.mock.calls);
    expect(said).toContain('no mail today');
    expect(said).not.toContain(other.token);
    for (const each of [token, other.token]) {
      expect((await accept(by(JANE), each)).status).toBe(201);
    }
  });

  describe('tells an outsider nothing', () => {
    /** One of each kind that nobody can accept any more, and unknown ones. */
    async function unusable(): Promise<string[]> {
      const used = await invite();
      await accept(by(JOHN), used.token);
      const expired = await invite();
      await database.client.query(
        'update tenant_invitations set expires_at = now() where invitation_id = $1',
        [expired.id],
      );
      const revoked = await invite();
      const revocation = await backend.admin.delete(
        `/acme/invitations/${revoked.id}`,
      );
      expect(revocation.status).toBe(204);
      const others = await invite({
        role: 'member',
        email: 'jane@example.com',
      });
      const ofDeleted = await invite({ role: 'member' }, { slug: 'globex' });
      await backend.admin.delete('/globex');
      return [
        used.token,
        expired.token,
        revoked.token,
        others.token,
        ofDeleted.token,
        'x'.repeat(43),
        '',
        "' or true --\0",
        expired.id,
      ];
    }

    it('in what it answers', async () => {
      const answers = new Set<string>();
      for (const token of await unusable()) {
        const { status, body, headers } = await accept(backend.alice, token);
        answers.add(
          JSON.stringify([status, body.error, headers['content-length']]),
        );
      }
      expect([...answers]).toEqual([
        expect.stringContaining(
          'This invitation does not exist, is over, or is for somebody else',
        ),
      ]);
      expect(await members()).toEqual([`${JOHN}: member`]);
    });

    it('in the work that it does', async () => {
      const tokens = await unusable();
      const statements = jest.spyOn(pool, 'query');
      const transactions = jest.spyOn(pool, 'transaction');
      const work = new Set<string>();
      for (const token of tokens) {
        [statements, transactions, asked].forEach(each => each.mockClear());
        await accept(backend.alice, token);
        work.add(
          [statements, transactions, asked]
            .map(({ mock }) => mock.calls.length)
            .join(),
        );
      }
      expect([...work]).toEqual(['1,0,1']);
    });
  });

  it('belongs to its tenant: an admin of another one revokes it not', async () => {
    const { id: invitation, token } = await invite();
    const { status } = await backend.admin.delete(
      `/globex/invitations/${invitation}`,
    );
    expect(status).toBe(404);
    expect((await accept(backend.alice, token)).status).toBe(201);
  });

  it.each(['removed', 'made a member'])(
    'whose maker was %s as an admin is void: nobody comes back by a link that was kept',
    async how => {
      const add = (role: string) =>
        backend.admin.put(`/acme/members/${encodeURIComponent(JANE)}`, {
          role,
        });
      await add('admin');
      expect(audited).toHaveBeenCalledWith({ meta: { role: 'admin' } });
      const kept = await invite({ role: 'admin' }, { as: by(JANE) });
      const ofOther = await invite();
      if (how === 'removed') {
        await backend.admin.delete(`/acme/members/${encodeURIComponent(JANE)}`);
      } else {
        await add('member');
      }
      expect((await accept(by(JANE), kept.token)).status).toBe(404);
      expect((await accept(by(JOHN), ofOther.token)).status).toBe(201);
    },
  );

  it.each(['removed', 'made a member'])(
    'whose maker was an admin by a group that was %s is void, and those of other admins stay',
    async how => {
      const put = (principal: string, role: string) =>
        backend.admin.put(`/acme/members/${encodeURIComponent(principal)}`, {
          role,
        });
      await put(TEAM, 'admin');
      await put(JOHN, 'admin');
      await put(JANE, 'admin');
      const kept = await invite({ role: 'admin' }, { as: by(JANE) });
      const others = [
        await invite(undefined, { as: by(JOHN) }),
        await invite(undefined, { as: backend.service(CI) }),
      ];
      // She is one by the group alone.
      await database.client.query(
        'delete from tenant_members where principal = $1',
        [JANE],
      );
      if (how === 'removed') {
        await backend.admin.delete(`/acme/members/${encodeURIComponent(TEAM)}`);
      } else {
        await put(TEAM, 'member');
      }
      expect((await accept(by(JANE), kept.token)).status).toBe(404);
      for (const { token } of others) {
        expect((await accept(backend.alice, token)).status).toBe(201);
      }
    },
  );

  it.each([
    [
      'an invitation',
      async () => by(JANE).post('/acme/invitations', { role: 'admin' }),
    ],
    [
      'a member',
      async () =>
        by(JANE).put(`/acme/members/${encodeURIComponent(JANE)}`, {
          role: 'admin',
        }),
    ],
    [
      'the end of an invitation',
      async () => by(JANE).delete('/acme/invitations/none'),
    ],
    [
      'a sign-in',
      async () =>
        by(JANE).put('/acme/sign-in', {
          issuer: 'https://id.example.com/acme',
          client_id: 'portal',
          client_secret: '${ACME_SIGN_IN}',
        }),
    ],
    ['the end of a sign-in', async () => by(JANE).delete('/acme/sign-in')],
  ])('%s is not made by an admin who is being removed', async (_, make) => {
    await database.fill({ acme: { [JANE]: 'admin' } });
    await database.client.query('begin');
    await database.client.query(
      `select from tenants where tenant_slug = 'acme' for update`,
    );
    await database.client.query(
      'delete from tenant_members where principal = $1',
      [JANE],
    );
    const making = make();
    await waiting(1);
    await database.client.query('commit');
    const { status, body } = await making;
    expect([status, body.error?.name]).toEqual([403, 'NotAllowedError']);
    const { rows } = await database.client.query(
      `select principal as kept from tenant_members
        union all select created_by from tenant_invitations
        union all select updated_by from tenant_sign_in`,
    );
    expect(rows).toEqual([]);
  });

  it('a service accepts none, nor does who has not signed in', async () => {
    const { token } = await invite();
    const service = backend.service(CI);
    expect((await accept(service, token)).status).toBe(403);
    expect((await accept(backend.anonymous, token)).status).toBe(401);
    expect(await members()).toEqual([]);
  });
});
