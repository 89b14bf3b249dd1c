import { useContext, useEffect, useState } from 'react';
import { UNSAFE_NavigationContext as NavigationContext } from 'react-router-dom';

/**
 * Asks before the page is left while something is not saved: by a link of the app, or by closing
 * the tab. The browser's button to go back cannot be stopped: the router hears of it first.
 * The draft is there in any case.
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

    return () => {
      window.removeEventListener('beforeunload', askBrowser);
      navigator.push = push;
      navigator.replace = replace;
    };
  }, [isChanged, navigator]);

  return go && { leave: go, stay: () => setGo(undefined) };
}
