import { type RefObject, useEffect } from 'react';

/** So near to an edge it scrolls, in pixels. */
const EDGE = 48;

/** At the edge itself, in pixels a frame. */
const FASTEST = 16;

/**
 * Scrolls while something is dragged and the pointer is near the upper or lower edge of what is
 * visible. The dragged item moves along: it gets an event as if the pointer had moved.
 */
export function useEdgeScroll(
  isDragging: boolean,
  canvas: RefObject<HTMLElement>,
): void {
  useEffect(() => {
    if (!isDragging || !canvas.current) {
      return undefined;
    }
    const scroller = scrollerOf(canvas.current);
    let last: MouseEvent | TouchEvent | undefined;
    const keep = (event: MouseEvent | TouchEvent) => {
      last = event;
    };
    let frame = requestAnimationFrame(function scroll() {
      frame = requestAnimationFrame(scroll);
      const y = last && heightOf(last);
      if (!last || y === undefined) {
        return;
      }
      const was = scroller.scrollTop;
      scroller.scrollTop += stepAt(y, scroller);
      if (scroller.scrollTop !== was) {
        moveAgain(last);
      }
    });
    document.addEventListener('mousemove', keep);
    document.addEventListener('touchmove', keep);
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener('mousemove', keep);
      document.removeEventListener('touchmove', keep);
    };
  }, [isDragging, canvas]);
}

/** What scrolls when the canvas is too high. */
function scrollerOf(canvas: HTMLElement): Element {
  for (
    let element = canvas.parentElement;
    element;
    element = element.parentElement
  ) {
    const { overflowY } = getComputedStyle(element);
    if (
      (overflowY === 'auto' || overflowY === 'scroll') &&
      element.scrollHeight > element.clientHeight
    ) {
      return element;
    }
  }
  return document.scrollingElement ?? document.documentElement;
}

/** How far to scroll at once with the pointer at a height. */
function stepAt(y: number, scroller: Element): number {
  const isPage = scroller === document.scrollingElement;
  const box = scroller.getBoundingClientRect();
  const top = isPage ? 0 : Math.max(0, box.top);
  const bottom = isPage
    ? window.innerHeight
    : Math.min(window.innerHeight, box.bottom);
  const nearness = (distance: number) =>
    Math.max(0, Math.min(1, 1 - distance / EDGE));
  return Math.round((nearness(bottom - y) - nearness(y - top)) * FASTEST);
}

function heightOf(event: MouseEvent | TouchEvent): number | undefined {
  return 'touches' in event ? event.touches[0]?.clientY : event.clientY;
}

/** What is dragged computes its place from where the pointer is in the canvas. */
function moveAgain(event: MouseEvent | TouchEvent): void {
  if ('touches' in event) {
    const [touches, targetTouches, changedTouches] = [
      [...event.touches],
      [...event.targetTouches],
      [...event.changedTouches],
    ];
    document.dispatchEvent(
      new TouchEvent('touchmove', {
        bubbles: true,
        cancelable: true,
        touches,
        targetTouches,
        changedTouches,
      }),
    );
    return;
  }
  const { clientX, clientY, buttons } = event;
  document.dispatchEvent(
    new MouseEvent('mousemove', { bubbles: true, clientX, clientY, buttons }),
  );
}
