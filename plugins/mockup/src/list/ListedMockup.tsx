import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  ButtonIcon,
  Checkbox,
  Menu,
  MenuItem,
  MenuTrigger,
} from '@backstage/ui';
import { RiMore2Line } from '@remixicon/react';
import { Skeleton } from '@internal/pages';
import {
  type Mockup,
  mockupCreatePermission,
  mockupDeletePermission,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import useIntersection from 'react-use/esm/useIntersection';
import { mockupApiRef } from '../api';
import { LayoutThumbnail } from '../components/LayoutThumbnail';
import { MockupCard } from '../components/MockupCard';
import { useMay } from '../components/useMay';
import { mockupTranslationRef } from '../translation';
import styles from './MockupList.module.css';

/** What can be done with a mockup of the list. */
export type MockupAction = 'edit' | 'share' | 'duplicate' | 'export' | 'trash';

/** Whether an item is chosen among others. */
export interface Choice {
  isSelected: boolean;
  onChange: (isChosen: boolean) => void;
}

/** A mockup in the list. */
export function ListedMockup(props: {
  mockup: Mockup;
  choice: Choice;
  onAction: (action: MockupAction) => void;
}) {
  const { mockup, choice, onAction } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { id, name, updatedAt } = mockup;
  // They stay: a dialog that they open gives the focus back to their button.
  const [wasOpened, setOpened] = useState(false);
  return (
    <MockupCard
      mockup={mockup}
      thumbnail={<Thumbnail key={updatedAt} id={id} />}
      choice={<Checkbox aria-label={t('list.choose', { name })} {...choice} />}
      actions={
        <MenuTrigger onOpenChange={() => setOpened(true)}>
          <ButtonIcon
            variant="tertiary"
            size="small"
            icon={<RiMore2Line />}
            aria-label={t('list.actions.label', { name })}
          />
          {wasOpened && <Actions id={id} onAction={onAction} />}
        </MenuTrigger>
      }
    />
  );
}

/** The actions of a mockup. What the user may do is asked when they are opened. */
function Actions(props: {
  id: string;
  onAction: (action: MockupAction) => void;
}) {
  const { id, onAction } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const may = {
    edit: useMay({ permission: mockupUpdatePermission, resourceRef: id }),
    // Who sees a mockup sees with whom it is shared.
    share: true,
    duplicate: useMay({ permission: mockupCreatePermission }),
    // Who sees a mockup may export it.
    export: true,
    trash: useMay({ permission: mockupDeletePermission, resourceRef: id }),
  };
  const actions = Object.keys(may) as MockupAction[];
  return (
    <Menu
      disabledKeys={actions.filter(action => !may[action])}
      onAction={key => onAction(key as MockupAction)}
    >
      {actions.map(action => (
        <MenuItem
          key={action}
          id={action}
          color={action === 'trash' ? 'danger' : 'primary'}
          className={action === 'trash' ? styles.danger : undefined}
        >
          {t(`list.actions.${action}`)}
          {may[action] === false && ` – ${t('list.actions.refused')}`}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** The newest layout of a mockup, which is read once it is about to be seen. */
function Thumbnail({ id }: { id: string }) {
  const mockupApi = useApi(mockupApiRef);
  const room = useRef<HTMLDivElement>(null);
  const near = useIntersection(room, { rootMargin: '200px' });
  // It stays, and where the browser cannot tell it is read at once.
  const wasSeen = useRef(typeof IntersectionObserver === 'undefined');
  wasSeen.current ||= near?.isIntersecting === true;
  const isSeen = wasSeen.current;
  const { value: items, loading } = useAsync(async () => {
    if (!isSeen) {
      return undefined;
    }
    const found = await mockupApi.getMockup(id);
    return found?.mockup.latestVersion?.layoutData ?? [];
  }, [mockupApi, id, isSeen]);
  // Where it can't be read, the list has the mockup all the same.
  return (
    <div ref={room} style={{ height: '100%' }}>
      {!isSeen || loading ? (
        <Skeleton width="100%" height="100%" />
      ) : (
        <LayoutThumbnail items={items ?? []} />
      )}
    </div>
  );
}
