import { Card, CardBody, CardHeader, Flex, Text } from '@backstage/ui';
import {
  forwardRef,
  type ReactNode,
  type RefObject,
  useId,
  useRef,
} from 'react';

/**
 * A part of the page of a tenant. Its heading takes the focus where the button that had it is
 * gone.
 */
export const Section = forwardRef<
  HTMLHeadingElement,
  { title: string; actions?: ReactNode; children: ReactNode }
>(({ title, actions, children }, heading) => {
  const id = useId();
  return (
    <Card aria-labelledby={id}>
      <CardHeader>
        <h3
          id={id}
          ref={heading}
          tabIndex={-1}
          style={{ margin: 0, font: 'inherit', outlineOffset: 4 }}
        >
          <Text variant="title-x-small" weight="bold">
            {title}
          </Text>
        </h3>
      </CardHeader>
      <CardBody>
        <Flex direction="column" gap="4">
          {children}
          {actions && (
            <Flex gap="2" style={{ flexWrap: 'wrap' }}>
              {actions}
            </Flex>
          )}
        </Flex>
      </CardBody>
    </Card>
  );
});
Section.displayName = 'Section';

/** A heading, and what moves the focus to it once the dialog that had it is closed. */
export function useFocusableHeading(): [
  RefObject<HTMLHeadingElement>,
  () => void,
] {
  const heading = useRef<HTMLHeadingElement>(null);
  const focus = () => {
    // The dialog gives the focus back to its button in the next frame, if that is still there.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => heading.current?.focus()),
    );
  };
  return [heading, focus];
}

/** Names and values; those without a value are left out. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl
      style={{
        display: 'grid',
        gridTemplateColumns: 'repeat(auto-fit, minmax(min(100%, 220px), 1fr))',
        gap: 'var(--bui-space-4)',
        margin: 0,
      }}
    >
      {facts
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>
              <Text variant="body-small" weight="bold">
                {name}
              </Text>
            </dt>
            <dd style={{ margin: 0, overflowWrap: 'anywhere' }}>
              <Text>{value}</Text>
            </dd>
          </div>
        ))}
    </dl>
  );
}
