import { type RefObject, useLayoutEffect, useRef } from 'react';
import { passFocusOn } from './keepFocus';

/** The element of a component. What is around it gets the focus that it has when it goes. */
export function useFocusPassedOn<
  TElement extends Element,
>(): RefObject<TElement> {
  const element = useRef<TElement>(null);
  useLayoutEffect(() => {
    const { current } = element;
    return () => {
      if (current) {
        passFocusOn(current);
      }
    };
  }, []);
  return element;
}
