import { useContext, useEffect, useState } from 'react';
import { UNSAFE_NavigationContext as NavigationContext } from 'react-router-dom';

/**
 * Asks before the page is left while something is not saved: by a link of the app, by the
 * button to go back, or by closing the tab.
 *
 * @returns the question, while it is asked
 */
export function useLeaveQuestion(
  isChanged: boolean,
): { leave: () => void; stay: () => void } | undefined {
  const { navigator } = useContext(NavigationContext);
  const [go, setGo] = useState<() => void>();

  useEffect(() => {
    if (!isChanged) {
      setGo(undefined);
      return undefined;
    }
    const askBrowser = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', askBrowser);

    // The router of a Backstage app has no blocker of navigation.
    const { push, replace } = navigator;
    const ask =
      (proceed: typeof push): typeof push =>
      (...args) =>
        setGo(() => () => proceed.apply(navigator, args));
    navigator.push = ask(push);
    navigator.replace = ask(replace);

    const here = indexOf(window.history.state);
    const askBack = (event: PopStateEvent) => {
      const there = indexOf(event.state);
      if (here === undefined || there === undefined || here === there) {
        return;
      }
      // The address has changed already, but the router does not know it yet.
      event.stopImmediatePropagation();
      window.history.go(here - there);
      setGo(() => () => {
        window.removeEventListener('popstate', askBack, true);
        window.history.go(there - here);
      });
    };
    window.addEventListener('popstate', askBack, true);
    return () => {
      window.removeEventListener('beforeunload', askBrowser);
      window.removeEventListener('popstate', askBack, true);
      navigator.push = push;
      navigator.replace = replace;
    };
  }, [isChanged, navigator]);

  return go && { leave: go, stay: () => setGo(undefined) };
}

/** Where an entry of the history is, as react-router counts them. */
function indexOf(state: unknown): number | undefined {
  const { idx } = (state ?? {}) as { idx?: unknown };
  return typeof idx === 'number' ? idx : undefined;
}
