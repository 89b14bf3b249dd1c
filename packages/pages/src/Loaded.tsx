import type { ReactNode } from 'react';
import { ReadFailure } from './Failure';
import { Loading } from './Loading';

/** What is read from the backend, in whatever state it is: loading, failed, or there. */
export function Loaded<TValue>(props: {
  state: {
    value?: TValue;
    error?: Error;
    loading: boolean;
    retry: () => void;
  };
  /** What is said where it fails. */
  failed: string;
  height?: number;
  children: (value: TValue) => ReactNode;
}) {
  const { state, failed, height, children } = props;
  const { value, error, loading } = state;
  return (
    <>
      <ReadFailure title={failed} state={state} />
      {loading && value === undefined && !error && <Loading height={height} />}
      {value !== undefined && children(value)}
    </>
  );
}
