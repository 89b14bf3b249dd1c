import { Text } from '@backstage/ui';
import type { ReactNode } from 'react';

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
