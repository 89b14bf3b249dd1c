import { Flex, Text } from '@backstage/ui';
import { forwardRef, type ReactNode, useId } from 'react';
import styles from './members.module.css';

/**
 * A part of the page of members. Its heading takes the focus where the button that had it is
 * gone.
 */
export const Part = forwardRef<
  HTMLHeadingElement,
  { title: string; explanation: string; children: ReactNode }
>(({ title, explanation, children }, heading) => {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <Flex direction="column" gap="4">
        <div>
          <h2 id={id} ref={heading} tabIndex={-1} className={styles.heading}>
            {title}
          </h2>
          <Text as="p" color="secondary">
            {explanation}
          </Text>
        </div>
        {children}
      </Flex>
    </section>
  );
});
Part.displayName = 'Part';
