import { useCallback, useEffect, useRef } from 'react';

/**
 * Two panes of which each scrolls as far as the other. Where what is looked at lies elsewhere in
 * the second, they keep that distance.
 */
export function usePanesInStep() {
  const first = useRef<HTMLDivElement>(null);
  const second = useRef<HTMLDivElement>(null);
  /** How much further the second has scrolled. */
  const distance = useRef(0);

  useEffect(() => {
    const [one, other] = [first.current, second.current];
    if (!one || !other) {
      return undefined;
    }
    // What scrolled because the other one did, and must not answer that.
    const follows = new Map<HTMLElement, number>();
    const follow = (moved: HTMLElement, follower: HTMLElement, by: number) => {
      const isAnswer = follows.get(moved) === moved.scrollTop;
      follows.delete(moved);
      if (isAnswer) {
        return;
      }
      const was = follower.scrollTop;
      follower.scrollTop = moved.scrollTop + by;
      if (follower.scrollTop !== was) {
        follows.set(follower, follower.scrollTop);
      }
    };
    const onFirst = () => follow(one, other, distance.current);
    const onSecond = () => follow(other, one, -distance.current);
    one.addEventListener('scroll', onFirst, { passive: true });
    other.addEventListener('scroll', onSecond, { passive: true });
    return () => {
      one.removeEventListener('scroll', onFirst);
      other.removeEventListener('scroll', onSecond);
    };
  }, []);

  /** Brings what a selector finds into the middle of the panes that have it. */
  const show = useCallback((selector: string) => {
    const [one, other] = [first.current, second.current];
    if (!one || !other) {
      return;
    }
    const inFirst = middleOf(one, selector);
    const inSecond = middleOf(other, selector);
    distance.current =
      inFirst === undefined || inSecond === undefined ? 0 : inSecond - inFirst;
    // The other one follows by its event.
    if (inSecond !== undefined) {
      other.scrollTop = inSecond;
    }
    if (inFirst !== undefined) {
      one.scrollTop = inFirst;
    }
  }, []);

  return { first, second, show };
}

/** How far a pane has to scroll until something in it is in the middle. */
function middleOf(pane: HTMLElement, selector: string): number | undefined {
  const box = pane.querySelector(selector)?.getBoundingClientRect();
  if (!box) {
    return undefined;
  }
  const top = box.top - pane.getBoundingClientRect().top + pane.scrollTop;
  return Math.round(top - Math.max(0, pane.clientHeight - box.height) / 2);
}
