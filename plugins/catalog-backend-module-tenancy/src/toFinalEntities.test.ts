import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { sampleEntities } from '@internal/catalog-testing/sampleEntities';
import { startCatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { entityProvider, settled } from '@internal/catalog-testing/stockEngine';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { toFinalEntities } from '.';

const databases = createTestDatabases({ versions: 'newest' });

const relationsOf = (entities: Entity[]) =>
  Object.fromEntries(
    entities.map(entity => [
      stringifyEntityRef(entity),
      entity.relations ?? [],
    ]),
  );

const component = (spec: object): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name: 'website' },
  spec: { type: 'website', lifecycle: 'production', owner: 'web', ...spec },
});

describe.each(databases.eachSupportedId())(
  'entities that code makes final, beside a stock catalog on %s',
  id => {
    it('have the relations that the stock catalog derives', async () => {
      const entities = sampleEntities();
      const backend = await startCatalogBackend({
        connection: await databases.create(id),
        config: { catalog: { processingInterval: { minutes: 30 } } },
        features: [entityProvider(entities)],
      });
      try {
        const stock = await settled(
          async () => (await backend.as(undefined).get('/entities')).body,
          entities.length,
        );
        expect(relationsOf(await toFinalEntities(entities))).toEqual(
          relationsOf(stock),
        );
      } finally {
        await backend.stop();
      }
    });
  },
);

describe('entities that code makes final', () => {
  it('have relations on both sides, and the default namespace', async () => {
    const group: Entity = {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Group',
      metadata: { name: 'web' },
      spec: { type: 'team', children: [] },
    };
    const finals = await toFinalEntities([component({}), group]);
    expect(finals.map(({ metadata }) => metadata.namespace)).toEqual([
      'default',
      'default',
    ]);
    expect(relationsOf(finals)).toEqual({
      'component:default/website': [
        { type: 'ownedBy', targetRef: 'group:default/web' },
      ],
      'group:default/web': [
        { type: 'ownerOf', targetRef: 'component:default/website' },
      ],
    });
  });

  it("keep relations of kinds that are not Backstage's own", async () => {
    const relations = [{ type: 'uses', targetRef: 'thing:default/b' }];
    const thing = {
      apiVersion: 'example.com/v1',
      kind: 'Thing',
      metadata: { name: 'a' },
      relations,
    };
    expect(await toFinalEntities([thing])).toEqual([
      { ...thing, metadata: { name: 'a', namespace: 'default' }, relations },
    ]);
  });

  it('are refused where one is not as its kind demands, or is there twice', async () => {
    await expect(
      toFinalEntities([component({ lifecycle: 7 })]),
    ).rejects.toThrow(
      /^The entity component:default\/website is not as its kind demands: .*lifecycle/,
    );
    await expect(
      toFinalEntities([component({}), component({})]),
    ).rejects.toThrow('The entity component:default/website is there twice');
  });
});
