import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { useEntityPresentation } from '@backstage/plugin-catalog-react';
import {
  Button,
  ButtonIcon,
  Flex,
  Select,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { RiCloseLine } from '@remixicon/react';
import {
  ActionDialog,
  Alert,
  CopyButton,
  Loading,
  NOTHING_PICKED,
  ReadFailure,
} from '@internal/pages';
import {
  MOCKUP_LIMITS,
  type MockupShare,
  mockupSharePermission,
} from 'backstage-plugin-mockup-common';
import { useEffect, useRef, useState } from 'react';
import { Person } from '../components/Person';
import { useMay } from '../components/useMay';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { GroupPicker } from './GroupPicker';
import { groupIn, shortName } from './groups';
import rows from '../components/rows.module.css';
import styles from './sharing.module.css';
import { type SharedChange, type Sharing, useSharing } from './useSharing';

const ACCESSES = ['read', 'write'] as const;
type Access = (typeof ACCESSES)[number];

/** Shows with which groups a mockup is shared, and changes it where the user may. */
export function ShareDialog(props: {
  mockupId: string;
  name: string;
  onShared: (change: SharedChange) => void;
  onClose: () => void;
}) {
  const { mockupId, name, onShared, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const paths = usePaths();
  const mayShare = useMay({
    permission: mockupSharePermission,
    resourceRef: mockupId,
  });
  const sharing = useSharing(mockupId);
  const { current, conflict } = sharing;
  const form = useShares(current);
  const { said } = form;
  const isReady = current !== undefined && mayShare !== undefined;

  return (
    <ActionDialog
      title={t('sharing.title', { name })}
      texts={[t('sharing.text')]}
      submit={t(conflict ? 'sharing.overwrite' : 'sharing.submit')}
      failed={t('sharing.failed')}
      isDisabled={!isReady || !mayShare}
      onClose={onClose}
      onSubmit={async () => {
        const shares = form.complete();
        const saved = shares && (await sharing.save(shares));
        if (!saved) {
          return false;
        }
        if (saved !== 'unchanged') {
          onShared(saved);
        }
        return true;
      }}
    >
      <ReadFailure title={t('sharing.loadFailed')} state={sharing.opened} />
      {!isReady && !sharing.opened.error && <Loading height={120} />}
      {isReady && (
        <>
          {mayShare ? (
            <AddGroup form={form} />
          ) : (
            <Alert status="info" icon description={t('sharing.refused')} />
          )}
          <Groups form={form} isReadOnly={!mayShare} />
          <Flex
            align="center"
            justify="between"
            gap="3"
            className={styles.foot}
          >
            <Text variant="body-small" color="secondary">
              {t('sharing.owner')} <Person entityRef={current.owner} />
            </Text>
            <CopyButton
              label={t('components.copy.link')}
              textOf={() =>
                new URL(paths.mockup(mockupId), window.location.href).href
              }
            />
          </Flex>
        </>
      )}
      {conflict && (
        <Conflict
          now={conflict}
          onTake={() => {
            form.startFrom(conflict.shares, t('sharing.conflict.taken'));
            sharing.forgetConflict();
          }}
        />
      )}
      <VisuallyHidden role="status">
        {/* Said again where the same is done twice. */}
        <span key={said.count}>{said.text}</span>
      </VisuallyHidden>
    </ActionDialog>
  );
}

/** What is chosen, and not saved yet. */
function useShares(current: Sharing | undefined) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const [chosen, setShares] = useState<MockupShare[]>();
  const [times, setTimes] = useState(0);
  // What is read after a conflict is not to replace what was chosen.
  const shares = chosen ?? current?.shares ?? [];
  const [picked, setPicked] = useState(NOTHING_PICKED);
  const [problem, setProblem] = useState<string>();
  const [said, setSaid] = useState({ text: '', count: 0 });
  const say = (text: string) =>
    setSaid(last => ({ text, count: last.count + 1 }));

  /** The shares with what is in the field; nothing where that is wrong. */
  const withPicked = (): MockupShare[] | undefined => {
    const parsed = groupIn(picked);
    if ('problem' in parsed) {
      const text = picked.text.trim();
      setProblem(t(`sharing.add.${parsed.problem}`, { text }));
      return undefined;
    }
    if (shares.some(each => each.group === parsed.group)) {
      setProblem(t('sharing.add.known', { group: shortName(parsed.group) }));
      return undefined;
    }
    const most = MOCKUP_LIMITS.shares;
    if (shares.length >= most) {
      setProblem(t('sharing.add.full', { most: String(most) }));
      return undefined;
    }
    return [...shares, { group: parsed.group, access: 'read' }];
  };
  const show = (next: MockupShare[]) => {
    setShares(next);
    setPicked(NOTHING_PICKED);
    setProblem(undefined);
    setTimes(last => last + 1);
  };

  return {
    shares,
    /** How often the field was emptied. */
    times,
    said,
    picked,
    pick(next: typeof picked) {
      setPicked(next);
      setProblem(undefined);
    },
    problem,
    add() {
      const next = withPicked();
      if (next) {
        show(next);
        const { group } = next[next.length - 1];
        say(t('sharing.added', { group: shortName(group) }));
      }
    },
    /** What is to be saved: a group that is still in the field was meant, too. */
    complete(): MockupShare[] | undefined {
      if (picked.text.trim() === '') {
        return shares;
      }
      const next = withPicked();
      if (next) {
        show(next);
      }
      return next;
    },
    change(group: string, next: Access) {
      setShares(
        shares.map(each =>
          each.group === group ? { group, access: next } : each,
        ),
      );
    },
    remove(group: string) {
      setShares(shares.filter(each => each.group !== group));
      say(t('sharing.removed', { group: shortName(group) }));
    },
    startFrom(next: MockupShare[], text: string) {
      show(next);
      say(text);
    },
  };
}

type Form = ReturnType<typeof useShares>;

/** Adds groups that may view; the list changes that. */
function AddGroup({ form }: { form: Form }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const room = useRef<HTMLDivElement>(null);
  const { times } = form;
  // The dialog had the focus while it was loading.
  useEffect(() => room.current?.querySelector('input')?.focus(), [times]);
  return (
    <div ref={room} className={styles.add}>
      <GroupPicker
        // A field that is emptied would open its list again.
        key={times}
        value={form.picked}
        onChange={form.pick}
        onSubmit={form.add}
        problem={form.problem}
      />
      <Button variant="secondary" onPress={form.add}>
        {t('sharing.add.submit')}
      </Button>
    </div>
  );
}

function Groups({ form, isReadOnly }: { form: Form; isReadOnly: boolean }) {
  const { shares } = form;
  const { t } = useTranslationRef(mockupTranslationRef);
  const list = useRef<HTMLUListElement>(null);
  if (shares.length === 0) {
    return (
      <Text as="p" color="secondary" className={styles.none}>
        {t('sharing.none')}
      </Text>
    );
  }
  return (
    <ul ref={list} className={rows.rows} aria-label={t('sharing.list')}>
      {shares.map((share, index) => (
        <GroupRow
          key={share.group}
          share={share}
          isReadOnly={isReadOnly}
          onChange={access => form.change(share.group, access)}
          onRemove={() => {
            // What had the focus is gone with its row.
            const buttons = [
              ...(list.current?.querySelectorAll<HTMLElement>(
                '[data-remove]',
              ) ?? []),
            ];
            const next =
              buttons[index + 1] ??
              buttons[index - 1] ??
              list.current?.closest('form')?.querySelector('input');
            next?.focus();
            form.remove(share.group);
          }}
        />
      ))}
    </ul>
  );
}

function GroupRow(props: {
  share: MockupShare;
  isReadOnly: boolean;
  onChange: (access: Access) => void;
  onRemove: () => void;
}) {
  const { share, isReadOnly, onChange, onRemove } = props;
  const { group, access } = share;
  const { t } = useTranslationRef(mockupTranslationRef);
  const options = ACCESSES.map(id => ({
    id,
    label: t(`sharing.access.${id}`),
  }));
  const { primaryTitle: title } = useEntityPresentation(group);
  return (
    <li className={rows.row}>
      <div className={rows.words}>
        <Text weight="bold">{title}</Text>
        <Text variant="body-small" color="secondary">
          {group}
        </Text>
      </div>
      {isReadOnly ? (
        <Text>{t(`sharing.access.${access}`)}</Text>
      ) : (
        <Flex gap="2" align="center">
          <Select
            aria-label={t('sharing.access.of', { group: title })}
            options={options}
            value={access}
            onChange={next => onChange(next === 'write' ? 'write' : 'read')}
          />
          <ButtonIcon
            variant="tertiary"
            icon={<RiCloseLine />}
            aria-label={t('sharing.remove', { group: title })}
            data-remove
            onPress={onRemove}
          />
        </Flex>
      )}
    </li>
  );
}

/** With whom another user has shared it meanwhile. */
function Conflict({ now, onTake }: { now: Sharing; onTake: () => void }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Alert
      role="alert"
      status="warning"
      icon
      title={t('sharing.conflict.title')}
      description={
        now.shares.length === 0 ? (
          t('sharing.conflict.nobody')
        ) : (
          <>
            {t('sharing.conflict.now')}
            <ul className={styles.now}>
              {now.shares.map(({ group, access }) => (
                <li key={group}>
                  <Person entityRef={group} />: {t(`sharing.access.${access}`)}
                </li>
              ))}
            </ul>
          </>
        )
      }
      customActions={
        <Button size="small" variant="tertiary" onPress={onTake}>
          {t('sharing.conflict.take')}
        </Button>
      }
    />
  );
}
