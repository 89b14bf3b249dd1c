import { useEffect, useRef, useState } from 'react';

/**
 * Asks before the page is left while something is not saved: by a link of the app, or by closing
 * the tab. The browser's button to go back cannot be stopped: the router hears of it first.
 *
 * It stops the click, since which router follows it depends on the version of Backstage.
 *
 * @returns the question, while it is asked
 */
export function useLeaveQuestion(
  isChanged: boolean,
): { leave: () => void; stay: () => void } | undefined {
  const [link, setLink] = useState<HTMLAnchorElement>();
  const isLeaving = useRef(false);

  useEffect(() => {
    if (!isChanged) {
      setLink(undefined);
      return undefined;
    }
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
        setLink(clicked);
      }
    };
    window.addEventListener('beforeunload', askBrowser);
    window.addEventListener('click', ask, { capture: true });
    return () => {
      window.removeEventListener('beforeunload', askBrowser);
      window.removeEventListener('click', ask, { capture: true });
    };
  }, [isChanged]);

  return (
    link && {
      leave: () => {
        isLeaving.current = true;
        if (link.isConnected) {
          link.click();
        } else {
          // That of a menu, which is closed.
          window.location.assign(link.href);
        }
      },
      stay: () => setLink(undefined),
    }
  );
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
