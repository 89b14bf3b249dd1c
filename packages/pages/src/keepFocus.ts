/**
 * Call it with the press of a button that may be moved, disabled or removed by what it does, and so
 * lose the focus. It gets that back, or another button beside it does, or what is around it.
 */
export function keepFocus({ target }: { target: Element }): void {
  const around = elementsAround(target);
  requestAnimationFrame(() => {
    if (!isFocusLost()) {
      return;
    }
    const button = [target, ...(around[0]?.querySelectorAll('button') ?? [])]
      .filter((each): each is HTMLElement => each instanceof HTMLElement)
      .find(each => each.isConnected && !each.matches(':disabled'));
    if (button) {
      button.focus();
    } else {
      focusNearest(around);
    }
  });
}

/** Call it before an element is removed: where that had the focus, what is around it gets it. */
export function passFocusOn(element: Element): void {
  if (element.contains(document.activeElement)) {
    const around = elementsAround(element);
    requestAnimationFrame(() => {
      if (isFocusLost()) {
        focusNearest(around);
      }
    });
  }
}

function isFocusLost(): boolean {
  const { activeElement, body } = document;
  return activeElement === body || activeElement?.matches(':disabled') === true;
}

/** The nearest first. */
function elementsAround({ parentElement }: Element): HTMLElement[] {
  return parentElement ? [parentElement, ...elementsAround(parentElement)] : [];
}

/** The first that is still there. Tab goes on from it, to what it has. */
function focusNearest(around: HTMLElement[]): void {
  const place = around.find(each => each.isConnected);
  if (place && !place.hasAttribute('tabindex')) {
    place.tabIndex = -1;
    const forget = () => place.removeAttribute('tabindex');
    // Otherwise a click on any text in it would give it the focus.
    place.addEventListener('blur', forget, { once: true });
  }
  place?.focus({ preventScroll: true });
}
