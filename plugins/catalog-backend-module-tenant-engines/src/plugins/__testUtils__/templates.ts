import { createBackendModule } from '@backstage/backend-plugin-api';
import { catalogProcessingExtensionPoint } from '@backstage/plugin-catalog-node';
import { waitUntil } from '@internal/postgres/testUtils';
import type { ThreeTenants } from './threeTenants';

/** As the catalog's module for the model of the scaffolder. */
export const templates = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'templates',
  register(env) {
    env.registerInit({
      deps: { processing: catalogProcessingExtensionPoint },
      async init({ processing }) {
        processing.addProcessor({
          getProcessorName: () => 'Templates',
          validateEntityKind: async ({ kind }) => kind === 'Template',
        });
      },
    });
  },
});

/** Runs the template of this name to its end. The text is the log of its task. */
export async function runTemplate(
  portal: ThreeTenants,
  tenant: string,
): Promise<{ id: string; status: string; text: string }> {
  const tasks = 'scaffolder/v2/tasks';
  const { body } = await portal
    .send(tenant, 'POST', tasks)
    .send({ templateRef: 'template:default/template', values: {} })
    .expect(201);
  const id: string = body.id;
  const status = await waitUntil(`the task of ${tenant}`, async () => {
    const { body: task } = await portal.get(tenant, `${tasks}/${id}`);
    return ['completed', 'failed'].includes(task.status) && task.status;
  });
  const { text } = await portal.get(tenant, `${tasks}/${id}/events`);
  return { id, status, text };
}
