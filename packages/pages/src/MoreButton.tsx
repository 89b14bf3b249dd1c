import { Button } from '@backstage/ui';
import { useFocusPassedOn } from './useFocusPassedOn';

interface MoreButtonProps {
  label: string;
  isPending: boolean;
  onMore: () => void;
}

/** Reads the next page of a list; behind the last one there is none. */
export function MoreButton(
  props: Omit<MoreButtonProps, 'onMore'> & { onMore: (() => void) | undefined },
) {
  const { onMore } = props;
  return onMore ? <More {...props} onMore={onMore} /> : null;
}

function More({ label, isPending, onMore }: MoreButtonProps) {
  const place = useFocusPassedOn<HTMLDivElement>();
  return (
    <div ref={place}>
      <Button variant="secondary" isPending={isPending} onPress={onMore}>
        {label}
      </Button>
    </div>
  );
}
