import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { schedulerServiceFactory } from '@backstage/backend-defaults/scheduler';
import type { Entity } from '@backstage/catalog-model';
import githubModule from '@backstage/plugin-catalog-backend-module-github';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
// Serves the registry of tenants.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import request from 'supertest';
import { tenantEngines } from '..';
import {
  type GithubRequest,
  GithubServer,
} from '../__testUtils__/GithubServer';
import { componentYaml } from '../__testUtils__/SourceServer';

// Three organizations on one GitHub server: that of the default tenant, one that app-config
// gives to acme, and one that an administrator of globex configures over HTTP. Initech has no
// integration, only a location.

const databases = createTestDatabases({ versions: 'newest' });

const CALLER = { token: 'token-of-the-caller', subject: 'caller' };
const AUTHORIZATION = `Bearer ${CALLER.token}`;

const SECRET = 'TOKEN_OF_GLOBEX_ON_GITHUB';

const ORGANIZATIONS = {
  'portal-org': {
    token: 'token-of-the-portal',
    repositories: { website: componentYaml('website', 'portal-team') },
  },
  'acme-org': {
    token: 'token-of-acme',
    repositories: {
      website: componentYaml('website', 'acme-team'),
      anvil: componentYaml('anvil', 'acme-team'),
    },
  },
  'globex-org': {
    token: 'token-of-globex',
    repositories: {
      website: componentYaml('website', 'globex-team'),
      reactor: componentYaml('reactor', 'globex-team'),
    },
  },
};

const TOKENS = Object.values(ORGANIZATIONS).map(({ token }) => token);

describe.each(databases.eachSupportedId())(
  'engines with the GitHub module on %s',
  id => {
    let github: GithubServer;
    let backend: CatalogBackend;

    const provider = (organization: string) => ({
      github: {
        ours: {
          organization,
          host: github.host,
          schedule: { frequency: { hours: 1 }, timeout: { minutes: 5 } },
        },
      },
    });

    const tenants = (method: 'get' | 'put', path: string) =>
      request(backend.server)
        [method](`/api/tenants/${path}`)
        .set('Authorization', AUTHORIZATION);

    beforeAll(async () => {
      process.env[SECRET] = ORGANIZATIONS['globex-org'].token;
      github = await new GithubServer(ORGANIZATIONS).listen();
      backend = await startCatalogBackend({
        connection: await createTenancyDatabase(databases, id),
        enabled: true,
        authorization: AUTHORIZATION,
        config: {
          backend: {
            auth: { externalAccess: [{ type: 'static', options: CALLER }] },
            // Databases that no other test file has.
            database: { prefix: `github_${process.pid}_` },
            reading: { allow: [{ host: github.host }] },
          },
          catalog: {
            providers: provider('portal-org'),
            processingInterval: { minutes: 30 },
          },
          integrations: {
            github: [github.integration(ORGANIZATIONS['portal-org'].token)],
          },
          tenancy: {
            admins: [CALLER.subject],
            tenants: {
              acme: {
                catalog: { providers: provider('acme-org') },
                integrations: {
                  github: [github.integration(ORGANIZATIONS['acme-org'].token)],
                },
              },
              globex: { secrets: [SECRET] },
              initech: {
                catalog: {
                  locations: Object.keys(ORGANIZATIONS).map(organization => ({
                    type: 'url',
                    target: github.fileUrl(
                      organization,
                      'website',
                      'for-initech.yaml',
                    ),
                  })),
                },
              },
            },
          },
        },
        features: [
          // The engines call for their tenants, with tokens of Backstage's own service.
          authServiceFactory,
          httpAuthServiceFactory,
          // That of test backends runs no task that is scheduled after the start.
          schedulerServiceFactory,
          githubModule,
          tenantsPlugin,
          tenantEngines({ features: [githubModule] }),
        ],
      });
      for (const slug of ['acme', 'globex', 'initech']) {
        await backend.tenants.create({ tenant_slug: slug, tenant_name: slug });
      }
      await tenants('put', 'globex/catalog-config')
        .send({
          catalog: { providers: provider('globex-org') },
          integrations: { github: [github.integration(`\${${SECRET}}`)] },
        })
        .expect(200);
    });

    afterAll(async () => {
      delete process.env[SECRET];
      await backend?.stop();
      await github?.stop();
    });

    const locationsOf = (slug: string) => backend.as(slug).get('/locations');

    const entitiesOf = (slug: string) => backend.as(slug).get('/entities');

    const tokensFor = (filter: Partial<GithubRequest>) =>
      github.tokensFor(filter);

    /** The names of a tenant's components, with the teams that own them. */
    async function componentsOf(slug: string): Promise<string[]> {
      const { status, body } = await backend
        .as(slug)
        .get('/entities?filter=kind=component');
      expect(status).toBe(200);
      return (body as Entity[])
        .map(({ metadata, spec }) => `${metadata.name} of ${spec?.owner}`)
        .sort();
    }

    it('show each tenant the repositories of its own organization', async () => {
      const expected = {
        acme: ['anvil of acme-team', 'website of acme-team'],
        globex: ['reactor of globex-team', 'website of globex-team'],
      };
      for (const [slug, components] of Object.entries(expected)) {
        await waitUntil(
          `the components of ${slug}`,
          async () => (await componentsOf(slug)).length >= components.length,
        );
      }
      for (const [slug, components] of Object.entries(expected)) {
        expect(await componentsOf(slug)).toEqual(components);
      }
    });

    it("send to an organization its own tenant's token alone", async () => {
      for (const [organization, { token }] of Object.entries(ORGANIZATIONS)) {
        const seen = (filter: Partial<GithubRequest>) =>
          tokensFor({ organization, ...filter });
        await waitUntil(
          `the files of ${organization} to be read`,
          () => seen({ file: 'catalog-info.yaml' }).length > 0,
        );
        expect(seen({ file: 'catalog-info.yaml' })).toEqual([token]);
        expect(seen({ file: undefined })).toEqual([token]);
      }
    });

    it('read the files of another organization with their own token, in vain', async () => {
      const target = github.fileUrl('globex-org', 'website', 'for-acme.yaml');
      const { status, body } = await eventually(async () => {
        const answer = await backend
          .as('acme')
          .post('/locations?dryRun=true', { type: 'url', target });
        expect(answer.status).not.toBe(503);
        return answer;
      });
      expect(status).toBe(400);
      expect(body.error.message).toContain('no matching files found');
      expect(github.tokensFor({ file: 'for-acme.yaml' })).toEqual([
        ORGANIZATIONS['acme-org'].token,
      ]);
    });

    it('send no token for a tenant without an integration', async () => {
      for (const organization of Object.keys(ORGANIZATIONS)) {
        const tokens = await waitUntil(
          `the location of initech in ${organization} to be read`,
          () => {
            const seen = tokensFor({
              organization,
              file: 'for-initech.yaml',
            });
            return seen.length > 0 && seen;
          },
        );
        expect(tokens).toEqual([undefined]);
      }
      expect(await componentsOf('initech')).toEqual([]);
    });

    it('answer no token to anybody', async () => {
      const { body } = await tenants('get', 'globex/catalog-config').expect(
        200,
      );
      expect(body.integrations.github[0].token).toBe(`\${${SECRET}}`);
      for (const slug of ['acme', 'globex', 'initech']) {
        const answers = [await entitiesOf(slug), await locationsOf(slug)];
        const texts = JSON.stringify(answers.map(answer => answer.body));
        TOKENS.forEach(token => expect(texts).not.toContain(token));
      }
    });
  },
);
