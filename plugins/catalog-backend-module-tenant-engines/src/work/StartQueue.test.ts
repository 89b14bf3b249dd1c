import { withDeadline } from '@internal/postgres/testUtils';
import { StartQueue } from './StartQueue';

describe('engines that wait for their turn to start', () => {
  const { signal } = new AbortController();

  /** Work that ends when it is told to. */
  const controlled = (order: string[], name: string) => {
    let end = () => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    const work = async () => {
      order.push(name);
      await ended;
    };
    return { end: () => end(), work };
  };

  it('start a few at a time, in the order in which they came', async () => {
    const queue = new StartQueue(2);
    const order: string[] = [];
    const starts = ['a', 'b', 'c', 'd'].map(name => {
      const { end, work } = controlled(order, name);
      return { end, ran: queue.run(name, signal, work) };
    });
    expect(order).toEqual(['a', 'b']);
    starts[1].end();
    await withDeadline('the second', starts[1].ran);
    expect(order).toEqual(['a', 'b', 'c']);
    starts.forEach(({ end }) => end());
    await withDeadline('all', Promise.all(starts.map(({ ran }) => ran)));
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  it('come first where a request waits for them, also one that came before', async () => {
    const queue = new StartQueue(1);
    const order: string[] = [];
    queue.hurry('d');
    const starts = ['a', 'b', 'c', 'd'].map(name => {
      const { end, work } = controlled(order, name);
      end();
      return queue.run(name, signal, work);
    });
    queue.hurry('c');
    await withDeadline('all', Promise.all(starts));
    expect(order).toEqual(['a', 'c', 'd', 'b']);
  });

  it('leave their place where they fail or are given up', async () => {
    const queue = new StartQueue(1);
    const order: string[] = [];
    const first = controlled(order, 'first');
    const ran = queue.run('first', signal, first.work);
    const giveUp = new AbortController();
    const givenUp = queue.run('given up', giveUp.signal, async () => {
      order.push('given up');
    });
    const failing = queue.run('failing', signal, async () => {
      throw new Error('no start');
    });
    const last = queue.run('last', signal, async () => {
      order.push('last');
    });
    giveUp.abort(new Error('not wanted'));
    await expect(withDeadline('one', givenUp)).rejects.toThrow('not wanted');
    first.end();
    await withDeadline('the first', ran);
    await expect(withDeadline('one', failing)).rejects.toThrow('no start');
    await withDeadline('the last', last);
    expect(order).toEqual(['first', 'last']);
  });
});
