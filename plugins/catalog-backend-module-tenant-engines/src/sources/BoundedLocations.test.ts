import type { Entity } from '@backstage/catalog-model';
import { ScmIntegrations } from '@backstage/integration';
import { ConfigReader } from '@backstage/config';
import type { UrlReaderProcessor } from '@backstage/plugin-catalog-backend';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BoundedLocations } from './BoundedLocations';
import { DEFAULT_BOUNDS } from './bounds';

const KB = 1_000;

describe('the notes of locations', () => {
  it('do not keep the targets of those that are never read, such as of requests that validate', async () => {
    const locations = new BoundedLocations({
      bounds: DEFAULT_BOUNDS,
      integrations: ScmIntegrations.fromConfig(new ConfigReader({})),
      reader: {} as UrlReaderProcessor,
      refuseGrowth: async () => undefined,
    });
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const used = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const validate = (i: number) =>
      locations.validateEntityKind({
        kind: 'Location',
        metadata: { name: 'x' },
        spec: {
          target: JSON.parse(`"http://${i}/${'x'.repeat(90 * KB)}"`),
        },
      } as unknown as Entity);
    const before = used();
    for (let i = 0; i < 1_000; i += 1) {
      await validate(i);
    }
    const kept = used() - before;
    // Else the garbage collector may take the locations themselves before.
    await validate(0);
    expect(kept).toBeLessThan(10_000 * KB);
  });
});
