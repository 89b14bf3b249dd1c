import { type RefObject, useRef } from 'react';

/**
 * An element, and what moves the focus to it where the button that had it is gone, also with a
 * dialog.
 */
export function useLaterFocus<TElement extends HTMLElement>(): [
  RefObject<TElement>,
  () => void,
] {
  const element = useRef<TElement>(null);
  const focus = () => {
    // A dialog gives the focus back to its button in the next frame, if that is still there.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => element.current?.focus()),
    );
  };
  return [element, focus];
}
