import { Button } from '@backstage/ui';
import { useEffect, useRef } from 'react';

/** Reads the next page of a list. Behind the last one its place takes the focus that it had. */
export function MoreButton(props: {
  label: string;
  isPending: boolean;
  /** Nothing behind the last page. */
  onMore: (() => void) | undefined;
}) {
  const { label, isPending, onMore } = props;
  const place = useRef<HTMLDivElement>(null);
  const isPressed = useRef(false);
  const isAtEnd = onMore === undefined;
  useEffect(() => {
    if (isPressed.current && document.activeElement === document.body) {
      place.current?.focus();
    }
    isPressed.current = false;
  }, [isAtEnd]);
  return (
    <div ref={place} tabIndex={-1}>
      {onMore && (
        <Button
          variant="secondary"
          isPending={isPending}
          onPress={() => {
            isPressed.current = true;
            onMore();
          }}
        >
          {label}
        </Button>
      )}
    </div>
  );
}
