// The stock plugin, of which tenants have instances.
/* eslint-disable @backstage/no-mixed-plugin-imports */
import techdocsPlugin from '@backstage/plugin-techdocs-backend';
/* eslint-enable @backstage/no-mixed-plugin-imports */
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
  'what instances read from the Gitea of their tenant, on %s',
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
        catalog: {
          locations: [{ type: 'url', target }],
          rules: [{ allow: ['Component'] }],
        },
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

    /** Of the requests for the repository since it was last called. */
    const tokens = () => {
      const seen = [...(gitea.tokens.get(REPOSITORY) ?? [])];
      gitea.tokens.clear();
      return seen;
    };
    const untilServed = (tenant: string, ref: string) =>
      waitUntil(`${ref} of ${tenant}`, async () => {
        const path = `catalog/entities/by-name/${ref}`;
        return (await portal.get(tenant, path)).status === 200;
      });
    const build = async (tenant: string): Promise<string> => {
      await untilServed(tenant, 'component/default/handbook');
      tokens();
      const { text } = await portal.get(tenant, `techdocs/sync/${SITE}`);
      return text;
    };
    const read = (tenant: string) =>
      portal.get(tenant, `techdocs/static/docs/${SITE}/index.html`);

    it('is a document, with the token that no other tenant has', async () => {
      expect(await build('acme')).toContain('data: {"updated":true}');
      expect(tokens()).toEqual([TOKEN]);
      const { text } = await read('acme').expect(200);
      expect(text).toContain(markOf('acme'));

      const failed = await build('globex');
      expect(failed).toContain('event: error');
      expect(tokens()).toEqual([undefined]);
      portal.expectOwn('globex', failed);
      for (const other of ['default', 'globex']) {
        const answer = await read(other).expect(404);
        portal.expectOwn(other, answer.text);
      }
    });
  },
);
