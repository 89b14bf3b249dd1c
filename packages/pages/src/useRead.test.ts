import { act, renderHook, waitFor } from '@testing-library/react';
import { useRead } from './useRead';

it('reads again what has changed while it was reading', async () => {
  const answers: ((answer: string) => void)[] = [];
  const { result } = renderHook(() =>
    useRead(() => new Promise<string>(resolve => answers.push(resolve)), []),
  );
  act(() => result.current.retry());
  await waitFor(() => expect(answers).toHaveLength(2));
  await act(async () => {
    answers[1]('after the change');
    answers[0]('before it');
  });
  expect(result.current.value).toBe('after the change');
});
