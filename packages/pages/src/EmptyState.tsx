import { Flex, Text } from '@backstage/ui';
import { RiInboxLine } from '@remixicon/react';
import type { ReactNode } from 'react';
import { useFocusPassedOn } from './useFocusPassedOn';

/** In the place of a list that has nothing: why, and what to do. */
export function EmptyState(props: { text: string; action?: ReactNode }) {
  const { text, action } = props;
  // What there is to do goes with it.
  const room = useFocusPassedOn<HTMLDivElement>();
  return (
    <Flex ref={room} direction="column" align="center" gap="3" py="6">
      <Text color="secondary">
        <RiInboxLine size={48} aria-hidden />
      </Text>
      <Text as="p" style={{ maxWidth: '60ch', textAlign: 'center' }}>
        {text}
      </Text>
      {action}
    </Flex>
  );
}
