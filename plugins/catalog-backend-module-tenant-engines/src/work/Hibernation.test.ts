import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import { BackgroundWork } from './BackgroundWork';
import { type Due, Hibernation, HIBERNATION_TIMING } from './Hibernation';

// How upstream words its polls is in sleepingEngines.test.ts: by upstream itself.
describe('the hibernation of an engine', () => {
  const running: Hibernation[] = [];

  afterEach(() => running.splice(0).forEach(each => each.stop()));

  const create = (due: Due = {}, timing = {}) => {
    const work = new BackgroundWork({
      tenantSlug: 'acme',
      holdsLease: () => true,
    });
    work.open();
    const readDue = jest.fn(async () => due);
    const onIdle = jest.fn();
    const hibernation = new Hibernation({
      work,
      readDue,
      onIdle,
      timing: { ...HIBERNATION_TIMING, ...timing },
    });
    running.push(hibernation);
    return { hibernation, onIdle, readDue, work };
  };

  type Created = ReturnType<typeof create>;

  /** Polls as the plugin does, with one empty answer. */
  const pollOnce = async ({ hibernation }: Created, poll: string) => {
    const answer = await withDeadline('the poll', hibernation.admit(poll));
    if (answer === 'ask') {
      hibernation.answered(poll, 0);
    }
    return answer;
  };

  /** Both polls wait after empty answers. */
  const fallAsleep = async (created: Created) => {
    await pollOnce(created, 'processing');
    await pollOnce(created, 'stitching');
    const waiting = ['processing', 'stitching'].map(poll =>
      created.hibernation.admit(poll),
    );
    await waitUntil('the engine to sleep', () => created.hibernation.isAsleep);
    return waiting;
  };

  const woken = (waiting: Promise<unknown>[]) =>
    withDeadline('both polls to go on', Promise.all(waiting));

  it('does not begin where a statement was over while the poll was under way', async () => {
    const created = create();
    const { hibernation } = created;
    await withDeadline('the poll', hibernation.admit('processing'));
    hibernation.returned();
    hibernation.answered('processing', 0);
    expect(await pollOnce(created, 'processing')).toBe('ask');
  });

  it('reads again when items are due, where a change has come meanwhile', async () => {
    const created = create();
    let answer: (due: Due) => void = () => undefined;
    created.readDue.mockImplementationOnce(
      () => new Promise<Due>(resolve => (answer = resolve)),
    );
    const waiting = await fallAsleep(created);
    created.hibernation.returned();
    await woken(waiting);
    ['processing', 'stitching'].forEach(poll =>
      created.hibernation.answered(poll, 0),
    );
    created.readDue.mockResolvedValue({ processing: 20, stitching: 20 });
    const waitingAgain = ['processing', 'stitching'].map(poll =>
      created.hibernation.admit(poll),
    );
    await waitUntil('the engine to sleep', () => created.hibernation.isAsleep);
    // Of before the change: that nothing will ever be due.
    answer({});
    expect(await woken(waitingAgain)).toEqual(['ask', 'ask']);
  });

  it('goes on for a while where items become due one by one, and ends at once for a change', async () => {
    const created = create({ processing: 0, stitching: 0 }, { dueMs: 600_000 });
    expect(await woken(await fallAsleep(created))).toEqual(['ask', 'ask']);
    ['processing', 'stitching'].forEach(poll =>
      created.hibernation.answered(poll, 0),
    );
    const reads = created.readDue.mock.calls.length;
    const waiting = ['processing', 'stitching'].map(poll =>
      created.hibernation.admit(poll),
    );
    await waitUntil(
      'the engine to know what is due',
      () => created.readDue.mock.calls.length > reads,
    );
    expect(created.hibernation.isAsleep).toBe(true);
    created.hibernation.wake();
    expect(await woken(waiting)).toEqual(['ask', 'ask']);
  });

  it('tries again where it can not be read when items are due', async () => {
    const created = create({ processing: 3_600_000 }, { retryMs: 20 });
    created.readDue.mockRejectedValueOnce(new Error('no connection'));
    expect(await woken(await fallAsleep(created))).toEqual(['ask', 'ask']);
  });

  it('keeps polls waiting in a process that does not do the work, and ends when it does', async () => {
    const created = create();
    created.work.close();
    const waiting = ['processing', 'stitching'].map(poll =>
      created.hibernation.admit(poll),
    );
    created.hibernation.wake();
    await waitUntil('both to wait', () => created.hibernation.isAsleep);
    expect(created.readDue).not.toHaveBeenCalled();
    created.work.open();
    expect(await woken(waiting)).toEqual(['ask', 'ask']);
  });

  it('ends without an answer of PostgreSQL when the engine stops', async () => {
    const created = create();
    const waiting = await fallAsleep(created);
    created.hibernation.stop();
    expect(await woken(waiting)).toEqual(['empty', 'empty']);
    expect(await pollOnce(created, 'orphans')).toBe('empty');
  });
});
