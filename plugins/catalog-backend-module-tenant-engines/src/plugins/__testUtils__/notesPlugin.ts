import {
  coreServices,
  createBackendModule,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { eventsServiceRef } from '@backstage/plugin-events-node';
import { carriedTenant } from 'backstage-plugin-catalog-tenancy-node';
import { Router } from 'express';
import type { Knex } from 'knex';

/** As plugins have them: tables, and a second version. */
const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => ['1_notes', '2_author'],
  getMigrationName: name => name,
  getMigration: async name => ({
    up: knex =>
      name === '1_notes'
        ? knex.schema
            .createTable('notes', table => {
              table.increments('id');
              table.text('text').notNullable();
            })
            .createTable('tasks', table => {
              table.text('status');
            })
        : knex.schema.alterTable('notes', table => {
            table.text('author').index();
          }),
    down: async () => undefined,
  }),
};

/**
 * A plugin that knows no tenants: with a table, a cache entry, a subscription to events, a
 * scheduled task and a call to the catalog.
 */
export function createNotesPlugin(pluginId = 'notes') {
  /** The slugs of the tenants whose instance does not start. */
  const broken = new Set<string>();
  /** How often an instance has started, by tenant. */
  const starts = new Map<string, number>();
  /** How often the task has run, by tenant. */
  const runs = new Map<string, number>();

  const plugin = createBackendPlugin({
    pluginId,
    register(env) {
      env.registerInit({
        deps: {
          auth: coreServices.auth,
          cache: coreServices.cache,
          database: coreServices.database,
          discovery: coreServices.discovery,
          events: eventsServiceRef,
          httpRouter: coreServices.httpRouter,
          lifecycle: coreServices.lifecycle,
          scheduler: coreServices.scheduler,
        },
        async init({ auth, cache, database, discovery, events, ...services }) {
          const { httpRouter, lifecycle, scheduler } = services;
          const own = await auth.getOwnServiceCredentials();
          const tenant = carriedTenant(own)?.tenantSlug ?? 'default';
          starts.set(tenant, (starts.get(tenant) ?? 0) + 1);
          if (broken.has(tenant)) {
            throw new Error('The notes are broken');
          }
          const knex = await database.getClient();
          if (!database.migrations?.skip) {
            await knex.migrate.latest({ migrationSource });
          }
          lifecycle.addShutdownHook(async () => {
            await knex('notes').insert({ text: 'at the end' });
          });
          const heard: unknown[] = [];
          await events.subscribe({
            id: 'notes',
            topics: ['notes'],
            async onEvent({ eventPayload }) {
              heard.push(eventPayload);
            },
          });
          await scheduler.scheduleTask({
            id: 'count',
            frequency: { seconds: 1 },
            timeout: { seconds: 30 },
            async fn() {
              runs.set(tenant, (runs.get(tenant) ?? 0) + 1);
            },
          });
          const router = Router();
          router.get('/', async (_req, res) => {
            res.json({
              notes: await knex('notes').orderBy('id').pluck('text'),
              cached: (await cache.get('last')) ?? null,
              heard,
            });
          });
          router.post('/:text', async (req, res) => {
            const { text } = req.params;
            await knex('notes').insert({ text });
            await cache.set('last', text);
            await events.publish({ topic: 'notes', eventPayload: text });
            res.status(201).end();
          });
          router.get('/entities', async (_req, res) => {
            const { token } = await auth.getPluginRequestToken({
              onBehalfOf: await auth.getOwnServiceCredentials(),
              targetPluginId: 'catalog',
            });
            const answer = await fetch(
              `${await discovery.getBaseUrl('catalog')}/entities`,
              { headers: { authorization: `Bearer ${token}` } },
            );
            const entities: { metadata: { name: string } }[] =
              await answer.json();
            res.json(entities.map(({ metadata }) => metadata.name));
          });
          router.get('/leave/it', (_req, _res, next) => next('router'));
          httpRouter.use(router);
        },
      });
    },
  });
  return { plugin, broken, runs, starts };
}

/** Routes that the plugin of the default tenant has, and that answer all that reaches them. */
export const fallThroughModule = createBackendModule({
  pluginId: 'notes',
  moduleId: 'fall-through',
  register(env) {
    env.registerInit({
      deps: { httpRouter: coreServices.httpRouter },
      async init({ httpRouter }) {
        const router = Router();
        router.all(['/only/default', '/leave/it'], (_req, res) => {
          res.json('of the default tenant');
        });
        httpRouter.use(router);
      },
    });
  },
});
