import type { RefObject } from 'react';
import { useContainerWidth } from 'react-grid-layout';

/** The width of an element, in pixels, whenever it changes. */
export function useWidth(): { width: number; ref: RefObject<HTMLDivElement> } {
  const { width, containerRef } = useContainerWidth();
  // Typed for React 19.
  return { width, ref: containerRef as RefObject<HTMLDivElement> };
}
