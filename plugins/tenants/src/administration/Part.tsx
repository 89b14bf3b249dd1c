import { Flex, Text } from '@backstage/ui';
import { type ReactNode, useId } from 'react';
import styles from './administration.module.css';

/** A part of a page, or in a box one of a part. */
export function Part(props: {
  title: string;
  explanation?: string;
  level?: 2 | 3;
  isBoxed?: boolean;
  /** What was done last, for those who do not see what has changed. */
  said?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const { title, explanation, level = 2, isBoxed } = props;
  const { said, actions, children } = props;
  const id = useId();
  const Heading = `h${level}` as const;
  return (
    <section
      aria-labelledby={id}
      className={isBoxed ? styles.section : undefined}
    >
      <Flex direction="column" gap={level === 2 ? '4' : '3'}>
        <div>
          <Heading id={id} className={styles.heading}>
            {title}
          </Heading>
          {explanation && (
            <Text as="p" color="secondary">
              {explanation}
            </Text>
          )}
          {/* In here, there is no gap for it while nothing is said. */}
          {said !== undefined && (
            <div role="status">
              {said && <Text color="secondary">{said}</Text>}
            </div>
          )}
        </div>
        {children}
        {actions && (
          <Flex gap="2" style={{ flexWrap: 'wrap' }}>
            {actions}
          </Flex>
        )}
      </Flex>
    </section>
  );
}
