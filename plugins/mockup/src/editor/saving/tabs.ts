/** Names this tab among those of the browser, until it is closed or loaded again. */
export const THIS_TAB = [...crypto.getRandomValues(new Uint32Array(2))]
  .map(part => part.toString(36))
  .join('');

const LOCK = 'backstage-plugin-mockup.tab.';

let isHeld = false;

/**
 * The tabs of this browser that are open and have had the editor. A browser has no locks for
 * pages without TLS: there are none to be seen then.
 */
export async function openTabs(): Promise<ReadonlySet<string>> {
  // Of the DOM's types, which have it always.
  const locks = navigator.locks as LockManager | undefined;
  if (!locks) {
    return new Set();
  }
  if (!isHeld) {
    isHeld = true;
    // The browser takes it back when the tab is closed or dies: the promise has no end.
    locks.request(`${LOCK}${THIS_TAB}`, () => new Promise(() => {}));
  }
  const { held = [] } = await locks.query();
  return new Set(
    held.flatMap(({ name }) =>
      name?.startsWith(LOCK) ? [name.slice(LOCK.length)] : [],
    ),
  );
}
