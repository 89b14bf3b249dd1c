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
  /** What is loaded, in words. */
  label?: string;
  children: (value: TValue) => ReactNode;
}) {
  const { state, failed, height, label, children } = props;
  const { value, error, loading } = state;
  return (
    <>
      <ReadFailure title={failed} state={state} />
      {loading && value === undefined && !error && (
        <Loading height={height} label={label} />
      )}
      {value !== undefined && children(value)}
    </>
  );
}
