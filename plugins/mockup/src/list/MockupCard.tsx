import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import {
  ButtonIcon,
  Link,
  Menu,
  MenuItem,
  MenuTrigger,
  Skeleton,
  Text,
} from '@backstage/ui';
import { RiMore2Line } from '@remixicon/react';
import {
  type Mockup,
  mockupCreatePermission,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import { useEffect, useRef, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { mockupApiRef } from '../api';
import { LayoutThumbnail } from '../components/LayoutThumbnail';
import { Moment } from '../components/Moment';
import { Person } from '../components/Person';
import { mockupRouteRef } from '../routes';
import { mockupTranslationRef } from '../translation';
import styles from './list.module.css';

/** What can be done with a mockup of the list. */
export type MockupAction = 'edit' | 'duplicate';

/** A mockup in the list. */
export function MockupCard(props: {
  mockup: Mockup;
  onAction: (action: MockupAction) => void;
}) {
  const { mockup, onAction } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const routeOf = useRouteRef(mockupRouteRef);
  const { id, name, description, owner, updatedAt } = mockup;
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={styles.card}>
      <Thumbnail key={updatedAt} id={id} />
      <div className={styles.head}>
        <Text as="h2" variant="body-large" weight="bold">
          <Link className={styles.link} href={routeOf?.({ id })}>
            {name}
          </Link>
        </Text>
        <MenuTrigger isOpen={isOpen} onOpenChange={setOpen}>
          <ButtonIcon
            className={styles.menu}
            variant="tertiary"
            size="small"
            icon={<RiMore2Line />}
            aria-label={t('list.actions.label', { name })}
          />
          {isOpen && <Actions id={id} onAction={onAction} />}
        </MenuTrigger>
      </div>
      {description && (
        <Text as="p" className={styles.description}>
          {description}
        </Text>
      )}
      <Text as="p" variant="body-small" color="secondary">
        <Person entityRef={owner} /> · <Moment at={updatedAt} />
      </Text>
    </li>
  );
}

/** The actions of a mockup. What the user may do is asked when they are opened. */
function Actions(props: {
  id: string;
  onAction: (action: MockupAction) => void;
}) {
  const { id, onAction } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const permissions = {
    edit: usePermission({
      permission: mockupUpdatePermission,
      resourceRef: id,
    }),
    duplicate: usePermission({ permission: mockupCreatePermission }),
  };
  const actions = Object.entries(permissions) as [
    MockupAction,
    { loading: boolean; allowed: boolean },
  ][];
  return (
    <Menu
      disabledKeys={actions
        .filter(([, { allowed }]) => !allowed)
        .map(([action]) => action)}
      onAction={key => onAction(key as MockupAction)}
    >
      {actions.map(([action, { loading, allowed }]) => (
        <MenuItem key={action} id={action}>
          {t(`list.actions.${action}`)}
          {!loading && !allowed && ` – ${t('list.actions.refused')}`}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** The newest layout of a mockup, which is read once it is about to be seen. */
function Thumbnail({ id }: { id: string }) {
  const mockupApi = useApi(mockupApiRef);
  const room = useRef<HTMLDivElement>(null);
  const isSeen = useSeen(room);
  const { value: items, loading } = useAsync(async () => {
    if (!isSeen) {
      return undefined;
    }
    const found = await mockupApi.getMockup(id);
    return found?.mockup.latestVersion?.layoutData ?? [];
  }, [mockupApi, id, isSeen]);
  // Where it can't be read, the list has the mockup all the same.
  return (
    <div ref={room} className={styles.thumbnail}>
      {!isSeen || loading ? (
        <Skeleton width="100%" height="100%" />
      ) : (
        <LayoutThumbnail items={items ?? []} />
      )}
    </div>
  );
}

/** Whether an element has come near to what is visible. */
function useSeen(room: React.RefObject<HTMLElement>): boolean {
  const [isSeen, setSeen] = useState(
    () => typeof IntersectionObserver === 'undefined',
  );
  useEffect(() => {
    if (isSeen || !room.current) {
      return undefined;
    }
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(each => each.isIntersecting)) {
          setSeen(true);
        }
      },
      { rootMargin: '200px' },
    );
    observer.observe(room.current);
    return () => observer.disconnect();
  }, [isSeen, room]);
  return isSeen;
}
