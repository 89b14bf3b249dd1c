import { mockServices } from '@backstage/backend-test-utils';
import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { TenantEngine } from './TenantEngine';
import { StartQueue } from '../work/StartQueue';
import { SupervisedEngine, SUPERVISION_TIMING } from './SupervisedEngine';

type Engine = Pick<TenantEngine, 'router' | 'stop'>;

describe('an engine under supervision', () => {
  const running: SupervisedEngine[] = [];

  afterEach(async () => {
    await Promise.all(running.splice(0).map(each => each.stop()));
  });

  const supervise = (
    start: (signal: AbortSignal) => Promise<Engine>,
    timing: Partial<typeof SUPERVISION_TIMING> = {},
  ) => {
    const logger = mockServices.logger.mock();
    const supervised = SupervisedEngine.run({
      tenant: { tenantId: randomUUID(), tenantSlug: 'acme' },
      logger,
      queue: new StartQueue(1),
      tables: { ready: async () => undefined, hurry: () => undefined },
      timing: {
        ...SUPERVISION_TIMING,
        shortestPauseMs: 1,
        longestPauseMs: 4,
        ...timing,
      },
      start: start as (signal: AbortSignal) => Promise<TenantEngine>,
    });
    running.push(supervised);
    return { supervised, logger };
  };

  const anEngine = () => {
    const engine = { router: jest.fn(), stop: jest.fn(async () => undefined) };
    return engine as unknown as Engine & { stop: jest.Mock };
  };

  const reaches = (supervised: SupervisedEngine, state: string) =>
    waitUntil(state, () => supervised.status.state === state);

  it('is started again, with a pause that doubles, until it starts', async () => {
    let attempts = 0;
    const { supervised, logger } = supervise(async () => {
      attempts += 1;
      if (attempts < 5) {
        throw new Error(`broken ${attempts}`);
      }
      return anEngine();
    });
    await reaches(supervised, 'running');
    expect(logger.error.mock.calls.map(([message]) => message)).toEqual([
      'The engine has failed and starts again in 0.001 seconds: broken 1',
      'The engine has failed and starts again in 0.002 seconds: broken 2',
      'The engine has failed and starts again in 0.004 seconds: broken 3',
      'The engine has failed and starts again in 0.004 seconds: broken 4',
    ]);
  });

  it('outlives the request for which it is started, and is not part of it', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { supervised } = requests.run('of another tenant', () =>
      supervise(async () => {
        seen.push(requests.getStore());
        return anEngine();
      }),
    );
    await reaches(supervised, 'running');
    expect(seen).toEqual([undefined]);
  });

  it('is tried at once with another configuration, without waiting for the pause', async () => {
    const engine = anEngine();
    let isBroken = true;
    const { supervised } = supervise(
      async () => {
        if (isBroken) {
          throw new Error('broken');
        }
        return engine;
      },
      { shortestPauseMs: 600_000, longestPauseMs: 600_000 },
    );
    await reaches(supervised, 'failed');
    isBroken = false;
    supervised.restart();
    await reaches(supervised, 'running');
    expect(supervised.engine).toBe(engine);
  });

  describe('while it stops', () => {
    const runAndStop = async (
      interrupt: (supervised: SupervisedEngine) => void,
      timing: Partial<typeof SUPERVISION_TIMING> = {},
    ) => {
      let stopped = () => undefined as void;
      const engine = anEngine();
      engine.stop.mockReturnValueOnce(
        new Promise<void>(resolve => {
          stopped = resolve;
        }),
      );
      const { supervised } = supervise(async () => engine, {
        shortestPauseMs: 600_000,
        longestPauseMs: 600_000,
        ...timing,
      });
      await reaches(supervised, 'running');
      interrupt(supervised);
      await waitUntil('the stop', () => engine.stop.mock.calls.length === 1);
      return { engine, supervised, stopped };
    };
    const breakDown = () =>
      runAndStop(supervised => supervised.fail(new Error('broken')));

    it('for another configuration, has requests wait for its next start', async () => {
      const { engine, supervised, stopped } = await runAndStop(each =>
        each.restart(),
      );
      const found = supervised.settled(600_000).then(() => supervised.engine);
      stopped();
      expect(await found).toBe(engine);
    });

    it('for another configuration, starts although a module never shuts down', async () => {
      const { engine, supervised } = await runAndStop(each => each.restart(), {
        stopMs: 100,
      });
      const next = await waitUntil('another start', () => supervised.engine);
      expect(next).toBe(engine);
    });

    it('for good, ends although a module never shuts down', async () => {
      const { supervised } = await runAndStop(each => each.stop(), {
        stopMs: 100,
      });
      await waitUntil('its end', () => supervised.status.state === 'stopped');
      expect(supervised.engine).toBeUndefined();
    });

    it('since it has broken, hears of a new configuration, and is tried at once', async () => {
      const { engine, supervised, stopped } = await breakDown();
      supervised.restart();
      stopped();
      await waitUntil('another start', () => supervised.engine);
      expect(supervised.engine).toBe(engine);
    });

    it('since it has broken, has its pause, whoever finds it broken too', async () => {
      const { supervised, stopped } = await breakDown();
      supervised.fail(new Error('broken'));
      stopped();
      await reaches(supervised, 'failed');
      expect(supervised.engine).toBeUndefined();
    });
  });

  it.each(['while it runs', 'while it starts', 'during a pause'])(
    'stops %s',
    async when => {
      const engine = anEngine();
      const { supervised } = supervise(
        signal => {
          if (when === 'while it runs') {
            return Promise.resolve(engine);
          }
          return when === 'during a pause'
            ? Promise.reject(new Error('broken'))
            : new Promise((_resolve, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason));
              });
        },
        { shortestPauseMs: 600_000, longestPauseMs: 600_000 },
      );
      if (when !== 'while it starts') {
        await supervised.settled(60_000);
      }
      await withDeadline('its end', supervised.stop());
      expect(supervised.status).toEqual({ state: 'stopped' });
      expect(supervised.engine).toBeUndefined();
    },
  );
});
