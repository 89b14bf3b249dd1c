import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  ButtonLink,
  Checkbox,
  Container,
  Flex,
  Text,
} from '@backstage/ui';
import {
  Alert,
  ifThere,
  ListFrame,
  Moment,
  PageHeader,
  SearchInput,
  SelectedActions,
  useLaterFocus,
  useListQuery,
  useSelection,
  useTask,
  useRead,
} from '@internal/pages';
import {
  mockupDeletePermission,
  type TrashedMockup,
} from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { Person } from '../components/Person';
import { useMay } from '../components/useMay';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import rows from '../components/rows.module.css';
import type { Choice } from './ListedMockup';
import { restoreMockup } from './restoreMockup';
import { PAGE_SIZE } from './useMockups';

/** The mockups that were deleted, until they are gone for good. */
export function TrashPage() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const paths = usePaths();
  const [query, setQuery] = useListQuery({});
  const { search, page } = query;
  const trash = useRead(
    () =>
      mockupApi.listTrash({
        limit: PAGE_SIZE,
        offset: (page - 1) * PAGE_SIZE,
        ...(search && { search }),
      }),
    [mockupApi, search, page],
  );
  const [notice, setNotice] = useState('');
  const [status, focusStatus] = useLaterFocus<HTMLDivElement>();
  const { isPendingOf, notes, run } = useTask({ offersRetry: true });

  const selection = useSelection(trash.value?.items ?? [], ({ id }) => id);
  const chosen = selection.chosen.length;

  function restore({ id, name }: TrashedMockup) {
    setNotice('');
    const work = async () => {
      await restoreMockup(mockupApi, id);
      setNotice(t('list.done.restored', { name }));
      // The button that asked for it goes with its row.
      focusStatus();
      trash.retry();
    };
    return run(t('list.trash.restoreFailed', { name }), work, id);
  }

  return (
    <>
      <PageHeader
        title={t('list.trash.title')}
        customActions={
          <ButtonLink variant="secondary" href={paths.list}>
            {t('list.trash.back')}
          </ButtonLink>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <Flex>
            <SearchInput
              search={search}
              onSearch={next => setQuery({ search: next }, 'replace')}
              placeholder={t('list.placeholder')}
            />
          </Flex>
          <div role="status" ref={status} tabIndex={-1}>
            {notice && <Alert status="success" icon title={notice} />}
          </div>
          {notes}
          <SelectedActions
            selection={selection}
            nameOf={({ name }) => name}
            onDone={trash.retry}
            actions={[
              {
                open: t('list.trash.restore'),
                title: t('list.several.restore', { count: chosen }),
                does: ({ id }) => restoreMockup(mockupApi, id),
              },
              {
                open: t('list.purge.submit'),
                title: t('list.several.purge', { count: chosen }),
                text: t('list.purge.text'),
                warning: t('list.purge.warning'),
                destructive: true,
                does: ({ id }) => ifThere(mockupApi.purgeMockup(id)),
              },
            ]}
          />
          <ListFrame
            state={trash}
            query={query}
            onQuery={setQuery}
            pageSize={PAGE_SIZE}
            texts={{
              failed: t('list.trash.failed'),
              found: count => t('list.found', { count }),
              noMatch: searched => t('list.noMatch', { search: searched }),
              none: t('list.trash.empty'),
            }}
            noneAction={
              <ButtonLink href={paths.list}>{t('list.trash.back')}</ButtonLink>
            }
          >
            {items => (
              <ul className={rows.rows} aria-label={t('list.trash.title')}>
                {items.map(mockup => (
                  <TrashRow
                    key={mockup.id}
                    mockup={mockup}
                    choice={selection.choiceOf(mockup)}
                    isPending={isPendingOf(mockup.id)}
                    onRestore={() => restore(mockup)}
                  />
                ))}
              </ul>
            )}
          </ListFrame>
        </Flex>
      </Container>
    </>
  );
}

function TrashRow(props: {
  mockup: TrashedMockup;
  choice: Choice;
  /** Whether it is being restored. */
  isPending: boolean;
  onRestore: () => void;
}) {
  const { mockup, isPending, onRestore } = props;
  const { name, description, owner, deletedAt, deletedBy, purgedAfter } =
    mockup;
  const { t } = useTranslationRef(mockupTranslationRef);
  const mayDelete = useMay({
    permission: mockupDeletePermission,
    resourceRef: mockup.id,
  });
  const isRefused = mayDelete === false;
  return (
    <li className={rows.row}>
      <Checkbox aria-label={t('list.choose', { name })} {...props.choice} />
      <div className={rows.words}>
        <Text as="h2" variant="body-large" weight="bold">
          <bdi>{name}</bdi>
        </Text>
        {description && (
          <Text as="p" dir="auto">
            {description}
          </Text>
        )}
        <Text as="p" variant="body-small" color="secondary">
          {t('list.trash.owner')} <Person entityRef={owner} />
        </Text>
        <Text as="p" variant="body-small" color="secondary">
          {t('list.trash.deleted')} <Moment at={deletedAt} />
          {deletedBy && (
            <>
              {' · '}
              <Person entityRef={deletedBy} />
            </>
          )}
        </Text>
        {purgedAfter && (
          <Text as="p" variant="body-small" color="secondary">
            {t('list.trash.purgedAfter')} <Moment at={purgedAfter} />
          </Text>
        )}
        {isRefused && (
          <Text as="p" variant="body-small" color="secondary">
            {t('list.trash.refused')}
          </Text>
        )}
      </div>
      <Button
        variant="secondary"
        size="small"
        isDisabled={isRefused}
        isPending={isPending}
        aria-label={t('list.trash.restoreOf', { name })}
        onPress={onRestore}
      >
        {t('list.trash.restore')}
      </Button>
    </li>
  );
}
