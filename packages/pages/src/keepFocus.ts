/**
 * Call it with the press of a button that may be moved or disabled by what it does, and so lose the
 * focus. It gets that back, or where it is disabled, another button beside it does.
 */
export function keepFocus({ target }: { target: Element }): void {
  const group = target.parentElement;
  requestAnimationFrame(() => {
    const { activeElement, body } = document;
    const isLost =
      activeElement === body ||
      (activeElement === target && target.matches(':disabled'));
    if (isLost) {
      [target, ...(group?.querySelectorAll('button') ?? [])]
        .filter((each): each is HTMLElement => each instanceof HTMLElement)
        .find(each => each.isConnected && !each.matches(':disabled'))
        ?.focus();
    }
  });
}
