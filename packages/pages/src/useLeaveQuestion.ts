import { useEffect, useRef, useState } from 'react';

/** What is needed of the browser's Navigation API, which older browsers do not have. */
type Navigation = EventTarget & { traverseTo(key: string): void };
type NavigateEvent = Event & {
  navigationType: string;
  destination: { url: string; key: string };
};

/**
 * Asks before the page is left while something is not saved: by a link of the app, by the browser's
 * buttons to go back and forward, or by closing the tab.
 *
 * It stops what leads away before the router hears of it: which router that is depends on the
 * version of Backstage. Of the buttons to go back and forward the router hears first, but for
 * browsers with the Navigation API.
 *
 * @returns the question, while it is asked
 */
export function useLeaveQuestion(
  isChanged: boolean,
): { leave: () => void; stay: () => void } | undefined {
  const [asked, setAsked] = useState<{ go: () => void }>();
  const isLeaving = useRef(false);

  useEffect(() => {
    if (!isChanged) {
      setAsked(undefined);
      return undefined;
    }
    const { navigation } = window as { navigation?: Navigation };
    const askBrowser = (event: BeforeUnloadEvent) => {
      if (!isLeaving.current) {
        event.preventDefault();
      }
    };
    const ask = (event: MouseEvent) => {
      const clicked = leavingLink(event);
      if (clicked && !isLeaving.current) {
        event.preventDefault();
        event.stopPropagation();
        setAsked({ go: () => follow(clicked) });
      }
    };
    const askBack = (event: Event) => {
      const { navigationType, destination, cancelable } =
        event as NavigateEvent;
      if (
        navigationType === 'traverse' &&
        cancelable &&
        !isLeaving.current &&
        new URL(destination.url).pathname !== window.location.pathname
      ) {
        event.preventDefault();
        setAsked({ go: () => navigation?.traverseTo(destination.key) });
      }
    };
    window.addEventListener('beforeunload', askBrowser);
    window.addEventListener('click', ask, { capture: true });
    navigation?.addEventListener('navigate', askBack);
    return () => {
      window.removeEventListener('beforeunload', askBrowser);
      window.removeEventListener('click', ask, { capture: true });
      navigation?.removeEventListener('navigate', askBack);
    };
  }, [isChanged]);

  return (
    asked && {
      leave: () => {
        isLeaving.current = true;
        asked.go();
      },
      stay: () => setAsked(undefined),
    }
  );
}

function follow(link: HTMLAnchorElement): void {
  if (link.isConnected) {
    link.click();
  } else {
    // That of a menu, which is closed.
    window.location.assign(link.href);
  }
}

/** The link that a click follows in this tab, to another page of the app. */
function leavingLink(event: MouseEvent): HTMLAnchorElement | undefined {
  const { target, button, altKey, ctrlKey, metaKey, shiftKey } = event;
  const link =
    target instanceof Element
      ? target.closest<HTMLAnchorElement>('a[href]')
      : undefined;
  const { origin, pathname } = window.location;
  return link &&
    button === 0 &&
    !(altKey || ctrlKey || metaKey || shiftKey) &&
    (!link.target || link.target === '_self') &&
    !link.hasAttribute('download') &&
    link.origin === origin &&
    link.pathname !== pathname
    ? link
    : undefined;
}
