import { Card, CardBody, CardHeader, Link, Text } from '@backstage/ui';
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
    <Card style={{ height: '100%' }}>
      {props.title && (
        <CardHeader>
          <Text as="p" weight="bold">
            {props.title}
          </Text>
        </CardHeader>
      )}
      <CardBody>
        <ul>
          {data.map(({ id, name, pathname }) => (
            <li key={id}>
              <Link href={pathname}>{name}</Link>
            </li>
          ))}
        </ul>
      </CardBody>
    </Card>
  );
}
