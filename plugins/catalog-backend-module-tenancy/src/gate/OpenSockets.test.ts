import { mockServices } from '@backstage/backend-test-utils';
import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import type { RegistryChange } from 'backstage-plugin-catalog-tenancy-node';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { OpenSockets } from './OpenSockets';

const NEVER = 2 ** 30;
const acme = { tenantId: 'id of acme', tenantSlug: 'acme' };

function create(timing: { checkMs?: number; answerMs?: number } = {}) {
  let change: (change?: RegistryChange) => void = () => undefined;
  const sockets = new OpenSockets({
    changes: {
      onChange: listener => {
        change = listener;
      },
    },
    logger: mockServices.logger.mock(),
    timing: { checkMs: NEVER, answerMs: NEVER, ...timing },
  });
  /** Answers one question after the other, and no more than these. */
  const add = (answers: (boolean | Error)[]) => {
    const socket = new PassThrough();
    const mayStay = jest.fn(async () => {
      const answer = answers.shift();
      if (answer instanceof Error) {
        throw answer;
      }
      return answer ?? new Promise<boolean>(() => undefined);
    });
    const closed = withDeadline('the end', once(socket, 'close'));
    sockets.add({ socket, tenant: acme, mayStay });
    return { closed, mayStay, socket };
  };
  return { add, change: (of?: RegistryChange) => change(of) };
}

describe('an open WebSocket', () => {
  it('is closed where its caller was put out at the moment when it was let in', async () => {
    await expect(create().add([false]).closed).resolves.toBeDefined();
  });

  it.each<[string, RegistryChange | undefined]>([
    ['of the members of its tenant', { membersOf: acme.tenantId }],
    ['of its tenant', { tenantSlug: acme.tenantSlug }],
    ['that was not heard', undefined],
  ])('is closed after a change %s', async (_, of) => {
    const { add, change } = create();
    const { closed } = add([true, false]);
    change(of);
    await expect(closed).resolves.toBeDefined();
  });

  it('is not looked at after changes of other tenants', () => {
    const { add, change } = create();
    const { mayStay, socket } = add([true]);
    change({ membersOf: 'id of globex' });
    change({ tenantSlug: 'globex' });
    change({ workOf: acme.tenantId });
    expect(mayStay).toHaveBeenCalledTimes(1);
    socket.destroy();
  });

  it('is closed without a change, at the next look', async () => {
    await expect(
      create({ checkMs: 10 }).add([true, true, false]).closed,
    ).resolves.toBeDefined();
  });

  it('stays where it can be found out a moment later', async () => {
    const { mayStay, socket } = create().add([new Error('Not yet'), true]);
    await waitUntil('the second answer', () => mayStay.mock.calls.length === 2);
    await mayStay.mock.results[1].value;
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it('is closed where it can not be found out in time', async () => {
    const { add } = create({ answerMs: 10 });
    await expect(
      Promise.all([add([]).closed, add([new Error('Never')]).closed]),
    ).resolves.toHaveLength(2);
  });
});
