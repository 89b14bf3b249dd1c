import { ResponseError } from '@backstage/errors';
import { renderInTestApp } from '@backstage/frontend-test-utils';
import { Button } from '@backstage/ui';
import { act, fireEvent, screen, waitFor } from '@testing-library/react';
import { useState } from 'react';
import { refusal } from './__testUtils__';
import { ifThere } from './ifThere';
import { keepFocus } from './keepFocus';
import { ListFrame } from './ListFrame';
import { Loaded } from './Loaded';
import { MoreButton } from './MoreButton';
import { usePages } from './usePages';
import { useRead } from './useRead';
import { useTask } from './useTask';

const LOST = new TypeError('Failed to fetch');

/** A backend that is slow: what was asked for last is answered by the test. */
function slowBackend() {
  const asked: { resolve(): void; reject(error: Error): void }[] = [];
  return {
    ask: () =>
      new Promise<void>((resolve, reject) => asked.push({ resolve, reject })),
    answer: () => act(async () => asked.at(-1)!.resolve()),
    fail: () => act(async () => asked.at(-1)!.reject(LOST)),
  };
}

const button = (name: string) => screen.getByRole('button', { name });

/** Presses a button that has the focus, as with the keyboard. */
function press(name: string) {
  act(() => button(name).focus());
  fireEvent.click(button(name));
}

/** Presses what tries again, which fails once more before it helps. */
async function tryAgain({ answer, fail }: ReturnType<typeof slowBackend>) {
  press('Try again');
  for (const again of [fail, answer]) {
    expect(screen.getByRole('alert')).toHaveTextContent(/Trying again…/);
    expect(button('Try again')).toHaveFocus();
    await again();
    if (again === fail) {
      expect(screen.getByRole('alert')).toHaveTextContent(/does not answer/);
      expect(button('Try again')).toHaveFocus();
      press('Try again');
    }
  }
  expect(screen.queryByRole('alert')).toBeNull();
  // The button is gone: what is around it has the focus.
  await waitFor(() => expect(document.body).not.toHaveFocus());
}

/** What has the focus. */
const focused = () => document.activeElement;

describe('what failed', () => {
  it('keeps the focus where it is read again: a list', async () => {
    const backend = slowBackend();
    function List() {
      const state = useRead(async () => {
        await backend.ask();
        return { items: ['One'], totalItems: 1 };
      }, []);
      return (
        <ListFrame
          state={state}
          query={{ search: '', page: 1 }}
          onQuery={() => {}}
          pageSize={1}
          texts={{ failed: 'Not loaded', found: String, none: '' }}
        >
          {items => items}
        </ListFrame>
      );
    }
    await renderInTestApp(<List />);
    await backend.fail();
    await tryAgain(backend);
    expect(focused()).toContainElement(screen.getByText('One'));
  });

  it('keeps the focus where it is read again: something else', async () => {
    const backend = slowBackend();
    function Page() {
      const state = useRead(async () => {
        await backend.ask();
        return 'It is read.';
      }, []);
      return (
        <Loaded state={state} failed="Not loaded">
          {text => text}
        </Loaded>
      );
    }
    await renderInTestApp(<Page />);
    await backend.fail();
    await tryAgain(backend);
    expect(focused()).toHaveTextContent('It is read.');
  });

  it('keeps the focus where it is done again, and comes into sight', async () => {
    const scrolled = jest.fn();
    Element.prototype.scrollIntoView = scrolled;
    const backend = slowBackend();
    function Page() {
      const { notes, run } = useTask({ offersRetry: true });
      return (
        <>
          {notes}
          <Button onPress={() => run('Not done', backend.ask)}>Do it</Button>
        </>
      );
    }
    await renderInTestApp(<Page />);
    press('Do it');
    await backend.fail();
    expect(scrolled.mock.contexts).toEqual([screen.getByRole('alert')]);
    await tryAgain(backend);
    const place = focused();
    expect(place).toContainElement(button('Do it'));
    // A click on a text in it must not give it the focus later.
    act(() => button('Do it').focus());
    expect(place).not.toHaveAttribute('tabindex');
  });
});

it('waits for each of several tasks', async () => {
  const slow = slowBackend();
  const quick = slowBackend();
  function Page() {
    const { isPendingOf, run } = useTask();
    return (
      <>
        <Button onPress={() => run('', slow.ask, 'slow')}>Slow</Button>
        <Button onPress={() => run('', quick.ask, 'quick')}>Quick</Button>
        {['slow', 'quick'].filter(isPendingOf).join()}
      </>
    );
  }
  await renderInTestApp(<Page />);
  press('Slow');
  press('Quick');
  expect(screen.getByText('slow,quick')).toBeVisible();
  await quick.answer();
  expect(screen.getByText('slow')).toBeVisible();
});

describe('what is removed', () => {
  it('is so where it is gone, and not where that failed', async () => {
    const gone = await refusal(404, 'NotFoundError', 'No such mockup');
    await expect(ifThere(Promise.reject(gone))).resolves.toBeUndefined();
    await expect(ifThere(Promise.reject(LOST))).rejects.toBe(LOST);
    const noRoute = await ResponseError.fromResponse(
      new Response('404 page not found', { status: 404 }),
    );
    await expect(ifThere(Promise.reject(noRoute))).rejects.toBe(noRoute);
  });
});

describe('the focus', () => {
  it('is at what has come where a button has removed its entry, and then at the list', async () => {
    function List() {
      const [items, setItems] = useState(['One', 'Two']);
      return (
        <ul>
          {items.map(item => (
            <li key={item}>
              <Button
                onPress={event => {
                  setItems(items.filter(each => each !== item));
                  keepFocus(event);
                }}
              >
                {item}
              </Button>
            </li>
          ))}
        </ul>
      );
    }
    await renderInTestApp(<List />);
    press('One');
    await waitFor(() => expect(screen.getByRole('listitem')).toHaveFocus());
    expect(focused()).toContainElement(button('Two'));
    press('Two');
    await waitFor(() => expect(screen.getByRole('list')).toHaveFocus());
  });

  it('is at the list once a search is cleared, of which nothing is said before', async () => {
    const { ask, answer } = slowBackend();
    function List() {
      const [search, setSearch] = useState('x');
      const state = useRead(async () => {
        if (search) {
          return { items: [], totalItems: 0 };
        }
        await ask();
        return { items: ['One'], totalItems: 1 };
      }, [search]);
      return (
        <ListFrame
          state={state}
          query={{ search, page: 1 }}
          onQuery={next => setSearch(next.search ?? '')}
          pageSize={1}
          texts={{
            failed: '',
            found: String,
            noMatch: () => 'No match',
            none: 'There is none',
          }}
        >
          {items => items}
        </ListFrame>
      );
    }
    await renderInTestApp(<List />);
    await screen.findByText('No match');
    press('Clear the search');
    expect(screen.queryByText('There is none')).toBeNull();
    await answer();
    await waitFor(() => expect(document.body).not.toHaveFocus());
    expect(focused()).toContainElement(screen.getByText('One'));
  });

  it('is at the end of a list whose last page was read', async () => {
    const READ = [
      { items: [1], nextCursor: 'a' },
      { items: [2], nextCursor: 'b' },
      { items: [3] },
    ];
    function List() {
      const { items, loading, readMore } = usePages<{
        items: number[];
        nextCursor?: string;
      }>(async cursor => READ[['a', 'b'].indexOf(cursor ?? '') + 1], []);
      return (
        <>
          {items.join()}
          <MoreButton label="More" isPending={loading} onMore={readMore} />
        </>
      );
    }
    await renderInTestApp(<List />);
    await screen.findByText('1');
    press('More');
    await screen.findByText('1,2');
    expect(button('More')).toHaveFocus();
    press('More');
    await screen.findByText('1,2,3');
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  it('is at the way back once the last page of a list is shown', async () => {
    function List() {
      const [page, setPage] = useState(1);
      return (
        <ListFrame
          state={{
            value: { items: [page], totalItems: 3 },
            loading: false,
            retry: () => {},
          }}
          query={{ search: '', page }}
          onQuery={next => setPage(next.page ?? 1)}
          pageSize={1}
          texts={{ failed: '', found: String, none: '' }}
        >
          {items => items}
        </ListFrame>
      );
    }
    await renderInTestApp(<List />);
    press('Next page');
    expect(button('Next page')).toHaveFocus();
    press('Next page');
    await waitFor(() => expect(button('Previous page')).toHaveFocus());
  });
});
