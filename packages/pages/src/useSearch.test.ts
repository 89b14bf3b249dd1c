import { act, renderHook } from '@testing-library/react';
import { DEBOUNCE_MS, useSearch } from './useSearch';

describe('useSearch', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const answers = new Map<string, (answer: string) => void>();
  const find = jest.fn(
    (text: string) =>
      new Promise<string>(resolve => {
        answers.set(text, resolve);
      }),
  );
  const search = () =>
    renderHook(({ text }) => useSearch(find, text), {
      initialProps: { text: 'a' },
    });
  const pause = () => act(() => jest.advanceTimersByTimeAsync(DEBOUNCE_MS));
  const answer = (text: string) =>
    act(async () => answers.get(text)?.(`found ${text}`));

  it('asks once somebody pauses, for the last text alone', async () => {
    const { rerender } = search();
    rerender({ text: 'an' });
    rerender({ text: 'ann' });
    expect(find).not.toHaveBeenCalled();
    await pause();
    expect(find.mock.calls).toEqual([['ann']]);
  });

  it('has the answer to the last text, whichever comes last', async () => {
    const { rerender, result } = search();
    await pause();
    rerender({ text: 'p' });
    await pause();
    await answer('p');
    await answer('a');
    expect(result.current).toEqual({ state: 'done', answer: 'found p' });
  });
});
