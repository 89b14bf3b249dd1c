import { Link, Text } from '@backstage/ui';
import type { MockupComponentProps } from 'backstage-plugin-mockup';

export interface VisitsProps {
  title?: string;
  limit?: number;
}

/** A page of the portal that the user was at. */
export interface RecentVisit {
  id: string;
  name: string;
  pathname: string;
}

/** Links to where the user was. */
export function Visits(
  input: MockupComponentProps<VisitsProps, RecentVisit[]>,
) {
  const { props, data } = input;
  return (
    <div style={{ height: '100%', overflow: 'auto' }}>
      {props.title && (
        <Text as="p" weight="bold">
          {props.title}
        </Text>
      )}
      <ul>
        {data.map(({ id, name, pathname }) => (
          <li key={id}>
            <Link href={pathname}>{name}</Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
