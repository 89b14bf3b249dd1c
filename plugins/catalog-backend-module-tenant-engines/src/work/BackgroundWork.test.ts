import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TenantLeases } from '../leases/ProcessLeases';
import { BackgroundWork } from './BackgroundWork';
import { WorkByTenant } from './WorkByTenant';

const REFUSAL =
  /does not do the background work of the tenant 'acme' at the moment/;

describe('the background work of a tenant', () => {
  let isHeld: boolean;

  beforeEach(() => {
    isHeld = true;
  });

  const createWork = (timing = { quietMs: 10, longestMs: 60_000 }) =>
    new BackgroundWork({
      tenantSlug: 'acme',
      holdsLease: () => isHeld,
      timing,
    });

  /** Resolves with whether the promise has settled by now. */
  const isSettled = (promise: Promise<unknown>) =>
    Promise.race([
      promise.then(() => true),
      new Promise<boolean>(resolve => setImmediate(() => resolve(false))),
    ]);

  it('gets no connection before it is opened', () => {
    const work = createWork();
    expect(work.mayBegin).toBe(false);
    expect(() => work.enter()).toThrow(REFUSAL);
    work.open();
    expect(work.mayBegin).toBe(true);
    expect(work.enter()).toEqual(expect.any(Function));
  });

  it('gets connections while the plugin starts, in any process', async () => {
    const work = createWork();
    isHeld = false;
    await work.start(async () => work.enter()());
    expect(() => work.enter()).toThrow(REFUSAL);
  });

  it('gets none for what a start has begun, once it has ended', async () => {
    const work = createWork();
    isHeld = false;
    let end = () => {};
    let loop: Promise<() => void> | undefined;
    await work.start(async () => {
      loop = new Promise<void>(resolve => {
        end = resolve;
      }).then(() => work.enter());
    });
    end();
    await expect(loop).rejects.toThrow(REFUSAL);
  });

  it('gets none beside a start that never ends, after the lease is lost', async () => {
    const work = createWork();
    work.open();
    work.start(() => new Promise(() => undefined));
    expect(() => work.enter()()).not.toThrow();
    isHeld = false;
    expect(() => work.enter()).toThrow(REFUSAL);
  });

  it('begins nothing once the lease is lost, also before it is closed', () => {
    const work = createWork();
    work.open();
    isHeld = false;
    expect(work.mayBegin).toBe(false);
  });

  it('is not that of another tenant, whose start or run goes on around it', async () => {
    const [work, other] = [createWork(), createWork()];
    await other.start(async () => expect(() => work.enter()).toThrow(REFUSAL));
    work.open();
    other.runTask(() => expect(() => work.enter()()).not.toThrow());
  });

  it('lets what is under way come to its end when it finishes', async () => {
    const work = createWork();
    work.open();
    const leave = work.enter();
    const finished = work.finish();
    expect(work.mayBegin).toBe(false);
    const leaveLater = work.enter();
    leave();
    await delay(30);
    expect(await isSettled(finished)).toBe(false);
    leaveLater();
    await withDeadline('the end of the work', finished);
    expect(() => work.enter()).toThrow(REFUSAL);
  });

  it('waits for a limited time, and then for connections alone', async () => {
    const work = createWork({ quietMs: 10, longestMs: 30 });
    work.open();
    const leave = work.enter();
    const finished = work.finish();
    await waitUntil('the work to be closed', () => {
      try {
        work.enter()();
        return false;
      } catch {
        return true;
      }
    });
    expect(await isSettled(finished)).toBe(false);
    leave();
    await withDeadline('the connection to be returned', finished);
  });

  it('does not wait for what a lost lease has ended already', async () => {
    const work = createWork({ quietMs: 60_000, longestMs: 600_000 });
    work.open();
    work.enter()();
    isHeld = false;
    await withDeadline('the end of the work', work.finish());
    expect(() => work.enter()).toThrow(REFUSAL);
  });

  it('gives a run of a task nothing more once it was closed, even if it is open again', async () => {
    const work = createWork();
    work.open();
    let goOn = () => undefined as void;
    const paused = new Promise<void>(resolve => {
      goOn = resolve;
    });
    const run = work.runTask(async () => {
      BackgroundWork.current()!.enter()();
      await paused;
      BackgroundWork.current()!.enter()();
    });
    work.close();
    work.open();
    goOn();
    await expect(run).rejects.toThrow(REFUSAL);
    expect(() => work.runTask(() => work.enter()())).not.toThrow();
  });

  describe('of several tenants', () => {
    let held: Set<string>;
    let changed: () => void;
    let release: (tenantId: string) => Promise<void>;
    let works: WorkByTenant;

    beforeEach(() => {
      held = new Set(['1']);
      const leases: TenantLeases = {
        isHeld: tenantId => held.has(tenantId),
        onChange: listener => {
          changed = listener;
          return () => undefined;
        },
        beforeRelease: hook => {
          release = hook;
          return () => undefined;
        },
      };
      works = new WorkByTenant({
        leases,
        timing: { quietMs: 10, longestMs: 60_000 },
      });
    });

    const workOf = (tenantId: string) =>
      works.of({ tenantId, tenantSlug: `tenant-${tenantId}` });

    it('is done where the lease is held, as leases come and go', () => {
      expect([workOf('1').mayBegin, workOf('2').mayBegin]).toEqual([
        true,
        false,
      ]);
      held = new Set(['2']);
      changed();
      expect([workOf('1').mayBegin, workOf('2').mayBegin]).toEqual([
        false,
        true,
      ]);
    });

    it('is kept no longer than something has it: tenants are deleted', async () => {
      setFlagsFromString('--expose-gc');
      const collect: () => void = runInNewContext('gc');
      const work = new WeakRef(workOf('1'));
      await waitUntil('it to be gone', () => {
        collect();
        return work.deref() === undefined;
      });
      changed();
      expect(workOf('1').mayBegin).toBe(true);
    });

    it('does not go on by itself where a lost lease comes back', () => {
      const work = workOf('1');
      held = new Set();
      changed();
      held = new Set(['1']);
      expect(work.mayBegin).toBe(false);
      changed();
      expect(work.mayBegin).toBe(true);
    });

    it('ends before the lease is released', async () => {
      const leave = workOf('1').enter();
      const released = release('1');
      await delay(30);
      expect(await isSettled(released)).toBe(false);
      leave();
      await withDeadline('the release', released);
      await withDeadline('the release of an idle one', release('2'));
    });

    it('does not begin again while the lease is released, whatever happens to other leases', async () => {
      const work = workOf('1');
      const leave = work.enter();
      const released = release('1');
      changed();
      expect(work.mayBegin).toBe(false);
      leave();
      await withDeadline('the release', released);
      changed();
      expect(work.mayBegin).toBe(false);
      await withDeadline('the release of an unknown one', release('2'));
      held = new Set();
      changed();
      held = new Set(['1', '2']);
      changed();
      expect([work.mayBegin, workOf('2').mayBegin]).toEqual([true, true]);
    });

    it('is not done while it is paused, whatever happens to leases', async () => {
      const work = workOf('1');
      await withDeadline('the pause', works.pause('1'));
      changed();
      expect(work.mayBegin).toBe(false);
      works.resume('1');
      expect(work.mayBegin).toBe(true);
      await withDeadline('the pause of an unknown one', works.pause('2'));
      held.add('2');
      expect(workOf('2').mayBegin).toBe(false);
    });
  });
});
