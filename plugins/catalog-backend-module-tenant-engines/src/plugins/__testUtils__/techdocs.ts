import { createBackendModule } from '@backstage/backend-plugin-api';
import { techdocsGeneratorExtensionPoint } from '@backstage/plugin-techdocs-node';
import { spawnSync } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const hasMkDocs = spawnSync('mkdocs', ['--version']).status === 0;
if (!hasMkDocs) {
  process.stderr.write(
    'MkDocs builds no documents in these tests: there is no mkdocs in the path.\n',
  );
}

/** Stands in for MkDocs. */
export const generator = createBackendModule({
  pluginId: 'techdocs',
  moduleId: 'generator',
  register(env) {
    env.registerInit({
      deps: { generators: techdocsGeneratorExtensionPoint },
      async init({ generators }) {
        generators.setTechdocsGenerator({
          async run({ inputDir, outputDir }) {
            await cp(
              join(inputDir, 'docs/index.md'),
              join(outputDir, 'index.html'),
            );
            await writeFile(
              join(outputDir, 'techdocs_metadata.json'),
              JSON.stringify({ site_name: 'x', site_description: 'x' }),
            );
          },
        });
      },
    });
  },
});
