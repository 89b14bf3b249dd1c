import {
  type AuthService,
  type BackstageCredentials,
  coreServices,
  createBackendPlugin,
  type PermissionsService,
} from '@backstage/backend-plugin-api';
import { CatalogClient } from '@backstage/catalog-client';
import type { Entity } from '@backstage/catalog-model';
import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import {
  type CatalogService,
  catalogServiceRef,
} from '@backstage/plugin-catalog-node';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import {
  tenantGateServiceRef,
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
  tenantOf,
  withTenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { type Request, Router } from 'express';
import request from 'supertest';
import { component } from '@internal/catalog-testing/entities';
import { readPolicy } from '@internal/catalog-testing/readPolicy';
import { signedInGuest, signIn } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { calledFor, issueFor } from './callTokens';

const ALICE = 'user:default/alice';
const guest = signedInGuest(ALICE);
const databases = createTestDatabases({ versions: 'newest' });

/** What the plugin of the test has of Backstage. */
interface Services {
  auth: AuthService;
  catalog: CatalogService;
  client: CatalogClient;
  members: TenantMemberStore;
  permissions: PermissionsService;
}

type Work = (
  services: Services,
  context: { req: Request; credentials: BackstageCredentials },
) => Promise<unknown>;

/** A tenant-aware plugin that does the work that it is given in each request. */
function createCaller() {
  let services: Services;
  let work: Work = async () => undefined;
  const plugin = createBackendPlugin({
    pluginId: 'caller',
    register(env) {
      env.registerInit({
        deps: {
          auth: coreServices.auth,
          catalog: catalogServiceRef,
          discovery: coreServices.discovery,
          gate: tenantGateServiceRef,
          httpAuth: coreServices.httpAuth,
          httpRouter: coreServices.httpRouter,
          members: tenantMemberStoreServiceRef,
          permissions: coreServices.permissions,
        },
        async init({ discovery, gate, httpAuth, httpRouter, ...others }) {
          const client = new CatalogClient({ discoveryApi: discovery });
          services = { ...others, client };
          gate.declareTenantAware();
          const router = Router();
          router.get('/', (req, res, next) => {
            httpAuth
              .credentials(req)
              .then(credentials => work(services, { req, credentials }))
              .then(result => res.json(result ?? null))
              .catch(next);
          });
          httpRouter.use(router);
        },
      });
    },
  });
  return {
    plugin,
    get services() {
      return services;
    },
    does(next: Work) {
      work = next;
    },
  };
}

const namesOf = ({ items }: { items: Entity[] }) =>
  items.map(entity => entity.metadata.name);

it('a token names a tenant where it is one of a call, and a call gets no other', async () => {
  const tokenOf = (typ: string) =>
    [{ typ, alg: 'ES256' }, { obo: 'tenant:acme;' }]
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .concat('x')
      .join('.');
  const token = tokenOf('vnd.backstage.plugin');
  const other = tokenOf('JWT');
  expect(calledFor(`Bearer ${token}`)).toBe('acme');
  expect(calledFor(`Bearer ${other}`)).toBeUndefined();
  const issued = (slug: string, given: string) =>
    issueFor(slug, async () => ({ token: given }));
  await expect(issued('acme', token)).resolves.toEqual({ token });
  const refused = 'could not be issued';
  await expect(issued('acme', other)).rejects.toThrow(refused);
  await expect(issued('globex', token)).rejects.toThrow(refused);
});

describe.each(databases.eachSupportedId())(
  'a plugin that calls the catalog on %s',
  id => {
    const caller = createCaller();
    let backend: CatalogBackend;
    let token: string;
    let decide: () => PolicyDecision;

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [
          ...guest.features,
          readPolicy(() => decide()),
          caller.plugin,
        ],
        config: { ...guest.config, tenancy: { membership: 'required' } },
      });
      for (const slug of ['acme', 'globex']) {
        await backend.createTenant(slug, [
          component(`${slug}-only`),
          component('shared', {
            spec: { type: 'service', lifecycle: slug, owner: 'x' },
          }),
        ]);
        await caller.services.members.put(
          slug,
          { principal: ALICE, role: 'member' },
          { by: ALICE },
        );
      }
      token = await signIn(backend);
    });

    beforeEach(() => {
      decide = () => ({ result: AuthorizeResult.ALLOW });
    });

    const send = (slug?: string) => {
      const test = request(backend.server)
        .get('/api/caller/')
        .set('Authorization', `Bearer ${token}`);
      return slug === undefined ? test : test.set('X-Tenant-Slug', slug);
    };
    const ask = async (slug: string, work: Work) => {
      caller.does(work);
      const { body } = await send(slug);
      return body;
    };

    it.each(['acme', 'globex'])(
      'gets the entities of the tenant %s with the credentials of a request of it',
      async slug => {
        const names = [`${slug}-only`, 'shared'];
        await expect(
          ask(slug, async ({ catalog }, { credentials }) =>
            namesOf(await catalog.getEntities({}, { credentials })),
          ),
        ).resolves.toEqual(expect.arrayContaining(names));
        await expect(
          ask(slug, async ({ auth, client }, { credentials }) => {
            const { token: forCatalog } = await auth.getPluginRequestToken({
              onBehalfOf: credentials,
              targetPluginId: 'catalog',
            });
            return namesOf(await client.getEntities({}, { token: forCatalog }));
          }),
        ).resolves.toHaveLength(2);
        await expect(
          ask(slug, async ({ catalog }, { credentials }) =>
            catalog.getEntityByRef('component:default/shared', { credentials }),
          ),
        ).resolves.toMatchObject({ spec: { lifecycle: slug } });
      },
    );

    it('keeps two requests at once apart', async () => {
      const arrived: (() => void)[] = [];
      caller.does(async ({ catalog }, { credentials, req }) => {
        // Neither calls before both have come.
        await new Promise<void>(resolve => {
          arrived.push(resolve);
          if (arrived.length === 2) {
            arrived.forEach(go => go());
          }
        });
        const names = namesOf(await catalog.getEntities({}, { credentials }));
        return { tenant: tenantOf(req).tenantSlug, names: names.sort() };
      });
      const [acme, globex] = await withDeadline(
        'both answers',
        Promise.all([send('acme'), send('globex')]),
      );
      expect(acme.body).toEqual({
        tenant: 'acme',
        names: ['acme-only', 'shared'],
      });
      expect(globex.body).toEqual({
        tenant: 'globex',
        names: ['globex-only', 'shared'],
      });
    });

    it('gets the same tenant where the credentials outlive their request', async () => {
      let kept: BackstageCredentials | undefined;
      await ask('acme', async (_services, { credentials }) => {
        kept = credentials;
      });
      const later = await caller.services.catalog.getEntities(
        {},
        { credentials: kept! },
      );
      expect(namesOf(later).sort()).toEqual(['acme-only', 'shared']);
    });

    it('is refused where it uses them in a request of another tenant', async () => {
      let kept: BackstageCredentials | undefined;
      await ask('acme', async (_services, { credentials }) => {
        kept = credentials;
      });
      const body = await ask('globex', async ({ catalog }) =>
        catalog.getEntities({}, { credentials: kept! }),
      );
      expect(body.error).toMatchObject({
        name: 'NotAllowedError',
        message: expect.stringContaining(
          "The call to the plugin 'catalog' is not for the tenant of the request",
        ),
      });
    });

    it('is refused with its own credentials in a request, unless they carry its tenant', async () => {
      const bare = await ask('acme', async ({ auth, catalog }) => {
        const credentials = await auth.getOwnServiceCredentials();
        return catalog.getEntities({}, { credentials });
      });
      expect(bare.error.message).toContain(
        'withTenantOf(request, credentials)',
      );

      await expect(
        ask('acme', async ({ auth, catalog }, { req }) => {
          const own = await auth.getOwnServiceCredentials();
          const credentials = withTenantOf(req, own);
          return namesOf(await catalog.getEntities({}, { credentials })).sort();
        }),
      ).resolves.toEqual(['acme-only', 'shared']);
    });

    it('may no longer act for a user who was removed, but for itself', async () => {
      let kept: BackstageCredentials[] = [];
      await ask('acme', async ({ auth }, { req, credentials }) => {
        const own = await auth.getOwnServiceCredentials();
        kept = [credentials, withTenantOf(req, own)];
      });
      const { catalog, members } = caller.services;
      const [ofUser, ofPlugin] = kept.map(
        credentials => () => catalog.getEntities({}, { credentials }),
      );
      await members.remove('acme', ALICE);
      try {
        await expect(ofUser()).rejects.toMatchObject({ statusCode: 403 });
        // It acts in the tenant of a request that was let in.
        await expect(ofPlugin()).resolves.toMatchObject({
          items: expect.arrayContaining([expect.anything()]),
        });
      } finally {
        await members.put(
          'acme',
          { principal: ALICE, role: 'member' },
          { by: ALICE },
        );
      }
    });

    it('works for the default tenant where it handles no request', async () => {
      const { auth, catalog } = caller.services;
      const credentials = await auth.getOwnServiceCredentials();
      await expect(catalog.getEntities({}, { credentials })).resolves.toEqual({
        items: [],
      });
    });

    it('can not name another tenant than the one that it acts in', async () => {
      let forCatalog = '';
      await ask('acme', async ({ auth }, { credentials }) => {
        ({ token: forCatalog } = await auth.getPluginRequestToken({
          onBehalfOf: credentials,
          targetPluginId: 'catalog',
        }));
      });
      const read = (slug?: string) => {
        const test = request(backend.server)
          .get('/api/catalog/entities')
          .set('Authorization', `Bearer ${forCatalog}`);
        return slug === undefined ? test : test.set('X-Tenant-Slug', slug);
      };
      expect((await read()).body).toHaveLength(2);
      expect((await read('acme')).status).toBe(200);
      const refused = await read('globex');
      expect(refused.status).toBe(403);
      expect(refused.text).toBe('{"error":"Invalid tenant"}');
    });

    it('is believed only for a token that the backend has signed', async () => {
      const part = (value: object) =>
        Buffer.from(JSON.stringify(value)).toString('base64url');
      const exp = Math.floor(Date.now() / 1000) + 600;
      const forged = [
        part({ typ: 'vnd.backstage.plugin', alg: 'ES256', kid: 'x' }),
        part({
          sub: 'caller',
          aud: 'catalog',
          iat: 0,
          exp,
          obo: 'tenant:acme;',
        }),
        'c2lnbmF0dXJl',
      ].join('.');
      const answer = await request(backend.server)
        .get('/api/catalog/entities')
        .set('Authorization', `Bearer ${forged}`);
      expect(answer.status).toBe(401);
    });

    it('gets decisions about the entity of the tenant', async () => {
      const mayRead: Work = async ({ permissions }, { credentials }) => {
        const asked = [
          'component:default/shared',
          'component:default/acme-only',
          'component:default/globex-only',
        ].map(resourceRef => ({
          permission: catalogEntityReadPermission,
          resourceRef,
        }));
        const decisions = await permissions.authorize(asked, { credentials });
        return decisions.map(({ result }) => result);
      };
      decide = () =>
        createCatalogConditionalDecision(catalogEntityReadPermission, {
          not: catalogConditions.hasSpec({ key: 'lifecycle', value: 'globex' }),
        });
      await expect(ask('acme', mayRead)).resolves.toEqual([
        'ALLOW',
        'ALLOW',
        'DENY',
      ]);
      await expect(ask('globex', mayRead)).resolves.toEqual([
        'DENY',
        'DENY',
        'ALLOW',
      ]);
      await expect(ask('default', mayRead)).resolves.toEqual([
        'DENY',
        'DENY',
        'DENY',
      ]);
    });
  },
);
