/**
 * Call it with the press of a button that may be moved, disabled or removed by what it does, and so
 * lose the focus. It gets that back, or another button beside it does, or what is around it.
 */
export function keepFocus({ target }: { target: Element }): void {
  const group = target.parentElement;
  const places = placesOf(target);
  requestAnimationFrame(() => {
    if (!isFocusLost()) {
      return;
    }
    const button = [target, ...(group?.querySelectorAll('button') ?? [])]
      .filter((each): each is HTMLElement => each instanceof HTMLElement)
      .find(each => each.isConnected && !each.matches(':disabled'));
    if (button) {
      button.focus();
    } else {
      focusNearest(places);
    }
  });
}

/**
 * Call it before an element is removed: where that had the focus, what is around it gets it.
 *
 * @param hasDialog - whether it has a dialog, which may have the focus, and would give it back
 */
export function passFocusOn(element: Element, hasDialog = false): void {
  if (hasDialog || element.contains(document.activeElement)) {
    const places = placesOf(element);
    // A dialog gives the focus back in the next frame.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (isFocusLost()) {
          focusNearest(places);
        }
      }),
    );
  }
}

function isFocusLost(): boolean {
  const { activeElement, body } = document;
  return activeElement === body || activeElement?.matches(':disabled') === true;
}

/** An element around another one, and at which of its children that is. */
interface Place {
  around: Element;
  index: number;
}

/** The nearest first. */
function placesOf(element: Element): Place[] {
  const { parentElement: around } = element;
  return around
    ? [
        { around, index: [...around.children].indexOf(element) },
        ...placesOf(around),
      ]
    : [];
}

/**
 * Gives the focus to the nearest around what is gone, or where that is gone, too, to what has come
 * there. Tab goes on from it, to what it has.
 */
function focusNearest(places: Place[]): void {
  const nearest = places.findIndex(({ around }) => around.isConnected);
  if (nearest < 0) {
    return;
  }
  const { around, index } = places[nearest];
  const element = (nearest > 0 && around.children[index]) || around;
  if (!(element instanceof HTMLElement)) {
    return;
  }
  if (!element.hasAttribute('tabindex')) {
    element.tabIndex = -1;
    const forget = () => element.removeAttribute('tabindex');
    // Otherwise a click on any text in it would give it the focus.
    element.addEventListener('blur', forget, { once: true });
  }
  element.focus({ preventScroll: true });
}
