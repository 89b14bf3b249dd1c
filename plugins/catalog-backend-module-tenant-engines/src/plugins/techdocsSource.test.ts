// The stock plugin, of which tenants have instances.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import techdocsPlugin from '@backstage/plugin-techdocs-backend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SourceServer } from '../__testUtils__/SourceServer';
import { GiteaServer } from './__testUtils__/GiteaServer';
import { generator, hasMkDocs } from './__testUtils__/techdocs';
import {
  markOf,
  startThreeTenants,
  type ThreeTenants,
} from './__testUtils__/threeTenants';

const databases = createTestDatabases({ versions: 'newest' });

const TOKEN = 'token-of-acme';
const REPOSITORY = 'acme/handbook';
const SITE = 'default/component/handbook';

const catalogInfo = (docs: string) => `
apiVersion: backstage.io/v1alpha1
kind: Component
metadata:
  name: handbook
  annotations:
    backstage.io/techdocs-ref: ${docs}
spec:
  type: documentation
  lifecycle: production
  owner: team
`;

describe.each(databases.eachSupportedId())(
  'TechDocs of a tenant whose documents are in its Gitea, on %s',
  id => {
    let folder: string;
    let gitea: GiteaServer;
    let sources: SourceServer;
    let portal: ThreeTenants;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'docs-'));
      gitea = await new GiteaServer().listen();
      sources = await new SourceServer().listen();
      gitea.repositories.set(REPOSITORY, {
        token: TOKEN,
        files: {
          'catalog-info.yaml': catalogInfo('dir:.'),
          'docs/index.md': markOf('acme'),
          'mkdocs.yml': 'site_name: Handbook',
        },
      });
      const features = [techdocsPlugin, ...(hasMkDocs ? [] : [generator])];
      const sourcesOf = (target: string, token?: string) => ({
        catalog: { locations: [{ type: 'url', target }] },
        integrations: { gitea: [gitea.integration(token)] },
      });
      portal = await startThreeTenants({
        connection: await createTenancyDatabase(databases, id),
        config: {
          backend: {
            reading: { allow: [{ host: sources.host }, { host: gitea.host }] },
          },
          techdocs: {
            builder: 'local',
            generator: {
              runIn: 'local',
              // Another package than MkDocs.
              mkdocs: { omitTechdocsCorePlugin: true },
            },
            publisher: {
              type: 'local',
              local: { publishDirectory: join(folder, 'docs') },
            },
          },
          tenancy: {
            tenants: {
              acme: sourcesOf(
                gitea.fileUrl(REPOSITORY, 'catalog-info.yaml'),
                TOKEN,
              ),
              globex: sourcesOf(
                sources.put(
                  '/globex.yaml',
                  catalogInfo(`url:${gitea.fileUrl(REPOSITORY)}`),
                ),
              ),
            },
          },
        },
        features,
        plugins: { techdocs: features },
        entitiesOf: () => [],
        fedByEngines: true,
      });
    });

    afterAll(async () => {
      await portal?.backend.stop();
      await gitea.stop();
      await sources.stop();
      await rm(folder, { recursive: true });
    });

    const build = async (tenant: string): Promise<string> => {
      await waitUntil(`the entity of ${tenant}`, async () => {
        const { status } = await portal.get(
          tenant,
          'catalog/entities/by-name/component/default/handbook',
        );
        return status === 200;
      });
      const { text } = await portal.get(tenant, `techdocs/sync/${SITE}`);
      expect(text).not.toContain(TOKEN);
      return text;
    };
    const read = (tenant: string) =>
      portal.get(tenant, `techdocs/static/docs/${SITE}/index.html`);

    it('are built with the token of that tenant, which no other one has', async () => {
      expect(await build('acme')).toContain('data: {"updated":true}');
      const { text } = await read('acme').expect(200);
      expect(text).toContain(markOf('acme'));
      // Before another tenant asks.
      expect([...gitea.tokens.get(REPOSITORY)!]).toEqual([TOKEN]);

      const failed = await build('globex');
      expect(failed).toContain('event: error');
      portal.expectOwn('globex', failed);
      expect([...gitea.tokens.get(REPOSITORY)!]).toEqual([TOKEN, undefined]);
      for (const other of ['default', 'globex']) {
        const answer = await read(other).expect(404);
        portal.expectOwn(other, answer.text);
      }
    });
  },
);
