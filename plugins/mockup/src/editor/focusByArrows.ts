import type { KeyboardEvent } from 'react';

/** Goes among the buttons of a toolbar, as its keys are everywhere. */
export function focusByArrows(event: KeyboardEvent<HTMLElement>): void {
  const { currentTarget, key, target } = event;
  const buttons = [
    ...currentTarget.querySelectorAll<HTMLElement>('button:enabled'),
  ];
  const at = buttons.indexOf(target as HTMLElement);
  const next = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: buttons.length - 1,
  }[key];
  if (next !== undefined) {
    event.preventDefault();
    buttons[next]?.focus();
  }
}
