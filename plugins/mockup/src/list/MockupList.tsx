import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  ButtonIcon,
  ButtonLink,
  Checkbox,
  Container,
  Flex,
  Menu,
  MenuItem,
  MenuTrigger,
  Select,
  Text,
} from '@backstage/ui';
import { RiAddLine, RiDeleteBinLine, RiMore2Line } from '@remixicon/react';
import {
  Alert,
  ifThere,
  ListFrame,
  PageHeader,
  SearchInput,
  SelectedActions,
  useLaterFocus,
  useListQuery,
  useSelection,
  useTask,
} from '@internal/pages';
import {
  type Mockup,
  MOCKUP_LIMITS,
  mockupCreatePermission,
} from 'backstage-plugin-mockup-common';
import { useId, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { MockupCards } from '../components/MockupCard';
import { useMay } from '../components/useMay';
import { usePaths } from '../routes';
import { ShareDialog } from '../sharing/ShareDialog';
import { mockupTranslationRef } from '../translation';
import { CreateDialog } from './CreateDialog';
import { DetailsDialog } from './DetailsDialog';
import { download, fileNameOf, ImportDialog } from './files';
import { ListedMockup, type MockupAction } from './ListedMockup';
import { restoreMockup } from './restoreMockup';
import { CHOICES, ORDERS, PAGE_SIZE, useMockups } from './useMockups';

/** The mockups that the user may see. */
export function MockupList() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const navigate = useNavigate();
  const [query, setQuery] = useListQuery(CHOICES);
  const mockups = useMockups(query);
  const [asked, setAsked] = useState<
    | { of: 'create' | 'import' }
    | { of: 'edit' | 'share' | 'duplicate'; mockup: Mockup }
  >();
  const close = () => setAsked(undefined);
  const [notice, setNotice] = useState<{ text: string; undo?: () => void }>();
  const { isPendingOf, notes, run } = useTask({ offersRetry: true });
  const [status, focusStatus] = useLaterFocus<HTMLDivElement>();
  const paths = usePaths();
  const mayCreate = useMay({ permission: mockupCreatePermission });
  const createButton = (
    <CreateButton
      isAllowed={mayCreate}
      onPress={() => setAsked({ of: 'create' })}
    />
  );
  const selection = useSelection(mockups.value?.items ?? [], ({ id }) => id);
  const chosen = selection.chosen.length;

  function attempt(failed: string, work: () => Promise<void>, of?: string) {
    setNotice(undefined);
    return run(failed, work, of);
  }

  function trash({ id, name }: Mockup) {
    const undo = () => {
      // The button goes with the notice.
      focusStatus();
      return attempt(t('list.failedTo.undo', { name }), async () => {
        await restoreMockup(mockupApi, id);
        mockups.retry();
        setNotice({ text: t('list.done.restored', { name }) });
      });
    };
    const work = async () => {
      await ifThere(mockupApi.deleteMockup(id));
      mockups.retry();
      setNotice({ text: t('list.done.trashed', { name }), undo });
    };
    return attempt(t('list.failedTo.trash', { name }), work, id);
  }

  function save(file: () => Promise<Response>, fileName: string) {
    return attempt(t('list.failedTo.export'), async () =>
      download(await file(), fileName),
    );
  }

  function act(action: MockupAction, mockup: Mockup) {
    if (isPendingOf(mockup.id)) {
      return;
    }
    if (action === 'trash') {
      trash(mockup);
    } else if (action === 'export') {
      save(
        () => mockupApi.exportMockup(mockup.id),
        fileNameOf(mockup.name, 'mockup.json'),
      );
    } else {
      setAsked({ of: action, mockup });
    }
  }

  return (
    <>
      <PageHeader
        title={t('list.title')}
        customActions={
          <Flex align="center" gap="2" style={{ flexWrap: 'wrap' }}>
            <MenuTrigger>
              <ButtonIcon
                variant="tertiary"
                icon={<RiMore2Line />}
                aria-label={t('list.more.label')}
              />
              <Menu
                onAction={key =>
                  key === 'import'
                    ? setAsked({ of: 'import' })
                    : save(() => mockupApi.exportMockups(), 'mockups.json')
                }
              >
                <MenuItem id="import">{t('list.more.import')}</MenuItem>
                <MenuItem id="export">{t('list.more.export')}</MenuItem>
              </Menu>
            </MenuTrigger>
            <ButtonLink
              variant="secondary"
              href={paths.trash}
              iconStart={<RiDeleteBinLine aria-hidden />}
            >
              {t('list.trash.open')}
            </ButtonLink>
            {createButton}
          </Flex>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <Flex align="end" gap="4" style={{ flexWrap: 'wrap' }}>
            <SearchInput
              search={query.search}
              onSearch={search => setQuery({ search }, 'replace')}
              placeholder={t('list.placeholder')}
            />
            <Select
              label={t('list.of.label')}
              options={(['all', 'mine'] as const).map(id => ({
                id,
                label: t(`list.of.${id}`),
              }))}
              value={query.of}
              onChange={of => setQuery({ of: of === 'mine' ? 'mine' : 'all' })}
            />
            <Select
              label={t('list.order.label')}
              options={ORDERS.map(id => ({ id, label: t(`list.order.${id}`) }))}
              value={query.order}
              onChange={order =>
                setQuery({ order: ORDERS.find(each => each === order) })
              }
            />
          </Flex>
          <div role="status" ref={status} tabIndex={-1}>
            {notice && <Notice {...notice} />}
          </div>
          {notes}
          <SelectedActions
            selection={selection}
            nameOf={({ name }) => name}
            onDone={mockups.retry}
            actions={[
              {
                open: t('list.actions.trash'),
                title: t('list.several.trash', { count: chosen }),
                does: ({ id }) => ifThere(mockupApi.deleteMockup(id)),
              },
            ]}
          />
          <ListFrame
            state={mockups}
            query={query}
            onQuery={setQuery}
            pageSize={PAGE_SIZE}
            texts={{
              failed: t('list.failed'),
              found: count => t('list.found', { count }),
              noMatch: search => t('list.noMatch', { search }),
              none: t(query.of === 'mine' ? 'list.noneOfYou' : 'list.empty'),
            }}
            noneAction={mayCreate && createButton}
          >
            {items => (
              <MockupCards label={t('list.title')}>
                {items.map(mockup => (
                  <ListedMockup
                    key={mockup.id}
                    mockup={mockup}
                    choice={selection.choiceOf(mockup)}
                    onAction={action => act(action, mockup)}
                  />
                ))}
              </MockupCards>
            )}
          </ListFrame>
        </Flex>
      </Container>
      {asked?.of === 'create' && (
        <CreateDialog onClose={close} onCreated={id => navigate(id)} />
      )}
      {asked?.of === 'import' && (
        <ImportDialog
          onClose={close}
          onDone={({ imported, updated }) => {
            setNotice({
              text: t(updated ? 'list.done.updated' : 'list.done.imported', {
                mockups: String(imported),
                updated: String(updated),
              }),
            });
            mockups.retry();
          }}
        />
      )}
      {asked?.of === 'edit' && (
        <DetailsDialog
          title={t('list.details.edit.title')}
          submit={t('list.details.edit.submit')}
          failed={t('list.details.edit.failed')}
          name={asked.mockup.name}
          description={asked.mockup.description ?? ''}
          onClose={close}
          onSubmit={async details => {
            const { id, name, description = '' } = asked.mockup;
            const changes = {
              ...(details.name !== name && { name: details.name }),
              ...(details.description !== description && {
                description: details.description || null,
              }),
            };
            if (Object.keys(changes).length > 0) {
              await mockupApi.updateMockup(id, changes);
              mockups.retry();
            }
          }}
        />
      )}
      {asked?.of === 'share' && (
        <ShareDialog
          mockupId={asked.mockup.id}
          name={asked.mockup.name}
          onClose={close}
          onShared={() => {
            setNotice({
              text: t('sharing.saved', { name: asked.mockup.name }),
            });
            mockups.retry();
          }}
        />
      )}
      {asked?.of === 'duplicate' && (
        <DuplicateDialog
          mockup={asked.mockup}
          onClose={close}
          onSubmit={async (request, idempotencyKey) => {
            const { mockup } = await mockupApi.duplicateMockup(
              asked.mockup.id,
              request,
              { idempotencyKey },
            );
            setNotice({
              text: t('list.done.duplicated', { name: mockup.name }),
            });
            mockups.retry();
          }}
        />
      )}
    </>
  );
}

/** What was done, and what takes it back. */
function Notice(props: { text: string; undo?: () => void }) {
  const { text, undo } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Alert
      status="success"
      icon
      title={text}
      customActions={
        undo && (
          <Button
            size="small"
            variant="tertiary"
            // What had the focus is gone with its card.
            // eslint-disable-next-line jsx-a11y/no-autofocus
            autoFocus
            onPress={undo}
          >
            {t('list.undo')}
          </Button>
        )
      }
    />
  );
}

/** Disabled, with the reason, where the user may create none. */
function CreateButton(props: {
  /** Nothing until it is known. */
  isAllowed: boolean | undefined;
  onPress: () => void;
}) {
  const { isAllowed, onPress } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const id = useId();
  return (
    <Flex align="center" gap="3">
      {isAllowed === false && (
        <Text variant="body-small" color="secondary" id={id}>
          {t('list.create.refused')}
        </Text>
      )}
      <Button
        iconStart={<RiAddLine aria-hidden />}
        isDisabled={!isAllowed}
        aria-describedby={id}
        onPress={onPress}
      >
        {t('list.create.open')}
      </Button>
    </Flex>
  );
}

/** Asks what the copy of a mockup is to be. */
function DuplicateDialog(props: {
  mockup: Mockup;
  onSubmit: (
    request: { name: string; withHistory: boolean },
    idempotencyKey: string,
  ) => Promise<void>;
  onClose: () => void;
}) {
  const { mockup, onSubmit, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [withHistory, setWithHistory] = useState(false);
  const suggest = (name: string) => t('list.duplicate.name', { name });
  const excess = [...suggest(mockup.name)].length - MOCKUP_LIMITS.name;
  const nameOfCopy =
    excess > 0
      ? suggest([...mockup.name].slice(0, -excess).join(''))
      : suggest(mockup.name);
  return (
    <DetailsDialog
      title={t('list.duplicate.title', { name: mockup.name })}
      text={t('list.duplicate.text')}
      submit={t('list.duplicate.submit')}
      failed={t('list.duplicate.failed')}
      name={nameOfCopy}
      onClose={onClose}
      onSubmit={({ name }, key) => onSubmit({ name, withHistory }, key)}
    >
      <Checkbox isSelected={withHistory} onChange={setWithHistory}>
        {t('list.duplicate.withHistory')}
      </Checkbox>
    </DetailsDialog>
  );
}
