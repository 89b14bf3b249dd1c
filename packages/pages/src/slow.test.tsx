import { ResponseError } from '@backstage/errors';
import { errorApiRef } from '@backstage/frontend-plugin-api';
import { renderInTestApp } from '@backstage/frontend-test-utils';
import { act, screen } from '@testing-library/react';
import { useState } from 'react';
import { ActionDialog } from './ActionDialog';
import { Failure } from './Failure';
import { ListFrame } from './ListFrame';
import { Loading } from './Loading';
import { SLOW_MS } from './useIsSlow';

const JSON_ALONE = { 'Content-Type': 'application/json' };

describe('a page whose backend does not answer', () => {
  beforeEach(() => {
    jest.useFakeTimers({ advanceTimers: true });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const wait = (ms: number) => act(() => jest.advanceTimersByTimeAsync(ms));

  it('says within five seconds what it waits for', async () => {
    expect(SLOW_MS).toBeLessThan(5_000);
    await renderInTestApp(<Loading />);
    expect(screen.queryByText(/has not answered/)).toBeNull();
    await wait(SLOW_MS);
    expect(screen.getByText(/has not answered yet/)).toBeVisible();
  });

  it('says so also where it goes to another page of a list', async () => {
    function List() {
      const [loading, setLoading] = useState(false);
      return (
        <ListFrame
          state={{
            value: { items: ['One'], totalItems: 2 },
            loading,
            retry: () => {},
          }}
          query={{ search: '', page: 1 }}
          onQuery={() => setLoading(true)}
          pageSize={1}
          texts={{ failed: '', found: String, none: '' }}
        >
          {items => items}
        </ListFrame>
      );
    }
    await renderInTestApp(<List />);
    await wait(SLOW_MS);
    expect(screen.queryByText(/has not answered/)).toBeNull();
    act(() => screen.getByRole('button', { name: 'Next page' }).click());
    await wait(SLOW_MS);
    expect(screen.getByText(/has not answered yet/)).toBeVisible();
    expect(screen.getByText('One')).toBeVisible();
  });

  it('lets a dialog be closed that waits', async () => {
    const onClose = jest.fn();
    await renderInTestApp(
      <ActionDialog
        title="Delete?"
        texts={[]}
        submit="Delete"
        failed="Not deleted"
        onSubmit={() => new Promise(() => {})}
        onClose={onClose}
      />,
    );
    act(() => screen.getByRole('button', { name: 'Delete' }).click());
    expect(screen.getByRole('button', { name: 'Cancel' })).toBeDisabled();
    await wait(SLOW_MS);
    expect(screen.getByText(/does not stop what was asked/)).toBeVisible();
    act(() => screen.getByRole('button', { name: 'Cancel' }).click());
    expect(onClose).toHaveBeenCalled();
  });

  it.each([true, false])(
    'does nothing more to a page whose dialog was closed meanwhile (done: %s), and tells what failed',
    async isDone => {
      let end = () => {};
      const onClose = jest.fn();
      const onDone = jest.fn();
      const post = jest.fn();
      const { unmount } = await renderInTestApp(
        <ActionDialog
          title="Delete?"
          texts={[]}
          submit="Delete"
          failed="Not deleted"
          onSubmit={() =>
            new Promise((resolve, reject) => {
              end = () => (isDone ? resolve() : reject(new Error('In use')));
            })
          }
          onClose={onClose}
          onDone={onDone}
        />,
        { apis: [[errorApiRef, { post, error$: jest.fn() }]] },
      );
      act(() => screen.getByRole('button', { name: 'Delete' }).click());
      unmount();
      await act(async () => end());
      expect(onClose).not.toHaveBeenCalled();
      expect(onDone).not.toHaveBeenCalled();
      expect(post.mock.calls.map(([{ message }]) => message)).toEqual(
        isDone ? [] : ['Not deleted: In use'],
      );
    },
  );

  it.each([
    [502, '<html>nginx</html>', /^The backend does not answer/],
    [500, '<html>nginx</html>', /proxy.* with status 500\. Try again/],
    [413, '<html>nginx</html>', /Make it smaller/],
    [429, '{"message":"API rate limit"}', /proxy.* with status 429/],
    // As the gate refuses a tenant.
    [403, '{"error":"Invalid tenant"}', /^You may not do this\.$/],
  ])(
    'quotes no answer with %s of something else',
    async (status, body, text) => {
      const error = await ResponseError.fromResponse(
        new Response(body, { status, headers: JSON_ALONE }),
      );
      await renderInTestApp(<Failure title="" error={error} />);
      expect(screen.getByRole('alert')).toHaveTextContent(text);
    },
  );

  it.each([
    [429, Response.json({}), '7', /\(Try again in 7 seconds\.\)$/],
    [
      503,
      new Response('<html>nginx</html>'),
      '1',
      /back\. \(Try again in 1 second\.\)$/,
    ],
    [503, new Response(''), 'Fri, 04 Dec 2026 10:00:00 GMT', /back\.$/],
  ])(
    'says when to try again after %s',
    async (status, { body }, after, text) => {
      const error = await ResponseError.fromResponse(
        new Response(body, { status, headers: { 'Retry-After': after } }),
      );
      await renderInTestApp(<Failure title="" error={error} />);
      expect(screen.getByRole('alert')).toHaveTextContent(text);
    },
  );

  it('quotes no page that is an answer with 200', async () => {
    const error = await new Response('<html>').json().catch(each => each);
    await renderInTestApp(<Failure title="" error={error} />);
    expect(screen.getByRole('alert')).toHaveTextContent(/with status 200/);
  });

  it('asks to sign in again where the session has ended', async () => {
    const error = await ResponseError.fromResponse(
      Response.json(
        {
          error: { name: 'AuthenticationError', message: 'Illegal token' },
          response: { statusCode: 401 },
        },
        { status: 401 },
      ),
    );
    await renderInTestApp(<Failure title="Not saved" error={error} />);
    expect(screen.getByRole('alert')).toHaveTextContent(
      /Your session has ended.*what you typed stays/,
    );
    expect(screen.queryByText(/Illegal token/)).toBeNull();
    expect(screen.getByRole('link', { name: /Sign in again/ })).toHaveAttribute(
      'target',
      '_blank',
    );
  });
});
