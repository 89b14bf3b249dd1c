import { useEffect, useRef } from 'react';

interface Handlers {
  onKeyDown: (event: KeyboardEvent) => void;
  /** Also cuts. */
  onCopy: (event: ClipboardEvent) => void;
  onPaste: (event: ClipboardEvent) => void;
}

/** Hears the keys and the clipboard of the page, whatever in it has the focus, except in dialogs. */
export function usePageKeys(handlers: Handlers): void {
  const current = useRef(handlers);
  current.current = handlers;
  useEffect(() => {
    const outsideDialogs =
      <TEvent extends Event>(handle: (event: TEvent) => void) =>
      (event: TEvent) => {
        const isHandled = event.defaultPrevented || isInDialog(event.target);
        if (!isHandled) {
          handle(event);
        }
      };
    const onKeyDown = outsideDialogs<KeyboardEvent>(event =>
      current.current.onKeyDown(event),
    );
    const onCopy = outsideDialogs<ClipboardEvent>(event =>
      current.current.onCopy(event),
    );
    const onPaste = outsideDialogs<ClipboardEvent>(event =>
      current.current.onPaste(event),
    );
    document.addEventListener('keydown', onKeyDown);
    document.addEventListener('copy', onCopy);
    document.addEventListener('cut', onCopy);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('keydown', onKeyDown);
      document.removeEventListener('copy', onCopy);
      document.removeEventListener('cut', onCopy);
      document.removeEventListener('paste', onPaste);
    };
  }, []);
}

function isInDialog(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest('[role="dialog"], [role="alertdialog"]') !== null
  );
}

/** Whether something takes text, and has keys and a clipboard of its own. */
export function isEditable(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches(
        'input:not([type=checkbox], [type=radio]), textarea, select',
      ))
  );
}
