import { Link, Text } from '@backstage/ui';
import { Moment } from '@internal/pages';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type { ReactNode } from 'react';
import { usePaths } from '../routes';
import styles from './MockupCard.module.css';
import { Person } from './Person';

/** Mockups beside each other. */
export function MockupCards(props: { label: string; children: ReactNode }) {
  return (
    <ul className={styles.cards} aria-label={props.label}>
      {props.children}
    </ul>
  );
}

/** A mockup, which a click opens. */
export function MockupCard(props: {
  mockup: Mockup;
  thumbnail: ReactNode;
  /** What can be done with it. */
  actions?: ReactNode;
  /** What chooses it among others. */
  choice?: ReactNode;
}) {
  const { mockup, thumbnail, actions, choice } = props;
  const { id, name, description, owner, updatedAt } = mockup;
  const paths = usePaths();
  return (
    <li className={styles.card}>
      <div className={styles.thumbnail}>{thumbnail}</div>
      <div className={styles.head}>
        <Text
          as="h2"
          variant="body-large"
          weight="bold"
          className={styles.name}
          title={name}
        >
          <Link className={styles.link} href={paths.mockup(id)}>
            <bdi>{name}</bdi>
          </Link>
        </Text>
        {(actions || choice) && (
          <div className={styles.actions}>
            {choice}
            {actions}
          </div>
        )}
      </div>
      {description && (
        <Text as="p" dir="auto" className={styles.description}>
          {description}
        </Text>
      )}
      <Text as="p" variant="body-small" color="secondary">
        <Person entityRef={owner} /> · <Moment at={updatedAt} />
      </Text>
    </li>
  );
}
