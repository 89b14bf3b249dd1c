import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Badge,
  Button,
  ButtonLink,
  Checkbox,
  Container,
  Flex,
  Link,
  Text,
} from '@backstage/ui';
import {
  EmptyState,
  Loading,
  Moment,
  MoreButton,
  PageHeader,
  ReadFailure,
  TextLink,
  useLaterFocus,
  usePages,
} from '@internal/pages';
import type { Page, Version } from 'backstage-plugin-mockup-common';
import { type ReactNode, useState } from 'react';
import { useNavigate, useParams, useSearchParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { LayoutThumbnail } from '../components/LayoutThumbnail';
import { Person } from '../components/Person';
import { usePublishing } from '../pages/usePublishing';
import { useReview } from '../review/useReview';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { HistoryFrame, type ReadMockup } from './HistoryFrame';
import styles from './history.module.css';
import { useRestoring } from './RestoreDialog';
import { TagEditor } from './TagEditor';
import { useVersionTitle } from './useVersionTitle';

// A page of versions carries their layouts.
const PAGE_SIZE = 20;

const NOTHING_ELSE = async () => true;

/** The versions of a mockup: who has saved which, and what to do with them. */
export function VersionsPage() {
  const { id = '' } = useParams();
  return (
    <HistoryFrame key={id} mockupId={id} load={NOTHING_ELSE}>
      {({ read }) => <Versions read={read} />}
    </HistoryFrame>
  );
}

function Versions(props: { read: ReadMockup }) {
  const { mockup } = props.read;
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const paths = usePaths();
  const mockupHref = paths.mockup(mockup.id);
  const api = useApi(mockupApiRef);
  const versions = usePages(
    (cursor): Promise<Page<Version>> =>
      api.listVersions(mockup.id, {
        limit: PAGE_SIZE,
        ...(cursor !== undefined && { cursor }),
      }),
    [api, mockup.id],
  );
  const { pages, items, error, loading, readMore } = versions;
  const restoring = useRestoring(props.read, versions.reload);
  // In the address, so that it is still chosen on the way back from the comparison.
  const [params, setParams] = useSearchParams();
  const setChosen = (ids: string[]) =>
    setParams(ids.length > 0 ? { chosen: ids.join() } : {}, { replace: true });
  const [said, setSaid] = useState('');
  // Others are gone, or among older versions, where nobody could choose another instead.
  const chosen = (params.get('chosen')?.split(',') ?? []).filter(id =>
    items.some(each => each.id === id),
  );
  const [status, focusStatus] = useLaterFocus<HTMLDivElement>();
  const publishing = usePublishing(mockup, text => {
    setSaid(text);
    // The button that asked for it may be gone.
    focusStatus();
  });
  const review = useReview(mockup.id, setSaid);
  const onRenamed = (saved: Version, changed: ReadMockup) => {
    versions.replace(each => (each.id === saved.id ? saved : each));
    restoring.setRead(changed);
    setSaid(
      t(saved.versionTag ? 'history.tag.saved' : 'history.tag.removed', {
        tag: saved.versionTag ?? '',
      }),
    );
  };

  return (
    <>
      <PageHeader
        title={t('history.title', { name: restoring.read.mockup.name })}
        customActions={
          <Flex gap="2" style={{ flexWrap: 'wrap' }}>
            <ButtonLink variant="secondary" href={paths.comments(mockup.id)}>
              {t('review.open')}
            </ButtonLink>
            <ButtonLink variant="secondary" href={mockupHref}>
              {t('history.toEditor')}
            </ButtonLink>
          </Flex>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <div role="status" ref={status} tabIndex={-1}>
            {restoring.notice}
            {said && <Text as="p">{said}</Text>}
          </div>
          {review.notice}
          {publishing.overview}
          {items.length > 1 && (
            <CompareBar mockupId={mockup.id} items={items} chosen={chosen} />
          )}
          {items.length > 0 && (
            <ol className={styles.versions} aria-label={t('history.versions')}>
              {items.map((version, index) => (
                <Row
                  key={version.id}
                  version={version}
                  from={items.find(({ id }) => id === version.restoredFrom)}
                  isNewest={index === 0}
                  // Others may have saved since the first page.
                  number={pages[0].totalItems - index}
                  choice={
                    items.length > 1 && (
                      <Checkbox
                        aria-label={t('history.compare.choose', {
                          title: titleOf(version),
                        })}
                        isSelected={chosen.includes(version.id)}
                        isDisabled={
                          chosen.length === 2 && !chosen.includes(version.id)
                        }
                        onChange={isChosen =>
                          setChosen(
                            isChosen
                              ? [...chosen, version.id]
                              : chosen.filter(each => each !== version.id),
                          )
                        }
                      />
                    )
                  }
                  tag={
                    <TagEditor
                      version={version}
                      read={restoring.read}
                      onSaved={onRenamed}
                      onConflict={restoring.take}
                    />
                  }
                  actions={
                    <>
                      {review.actionOf(version)}
                      {publishing.actionOf(version)}
                      {restoring.buttonOf(version)}
                    </>
                  }
                />
              ))}
            </ol>
          )}
          <ReadFailure title={t('history.failed')} state={versions} />
          {loading && items.length === 0 && !error && <Loading />}
          {pages.length > 0 && !loading && items.length === 0 && (
            <EmptyState
              text={t('history.none')}
              action={
                <ButtonLink href={mockupHref}>
                  {t('history.toEditor')}
                </ButtonLink>
              }
            />
          )}
          {items.length > 0 && (
            <Flex align="center" gap="3" style={{ flexWrap: 'wrap' }}>
              <Text role="status" color="secondary">
                {t('history.shown', {
                  shown: String(items.length),
                  total: String(pages[pages.length - 1].totalItems),
                })}
              </Text>
              <MoreButton
                label={t('history.more')}
                isPending={loading}
                onMore={readMore}
              />
            </Flex>
          )}
        </Flex>
      </Container>
      {restoring.dialog}
      {publishing.dialog}
    </>
  );
}

/** Leads to the comparison of the two that are chosen, the older one first. */
function CompareBar(props: {
  mockupId: string;
  items: Version[];
  chosen: string[];
}) {
  const { mockupId, items, chosen } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const navigate = useNavigate();
  const paths = usePaths();
  const [newer, older] = items.filter(({ id }) => chosen.includes(id));
  return (
    <div className={styles.compareBar}>
      <Text as="p" role="status" className={styles.said}>
        {chosen.length === 2
          ? t('history.compare.ready')
          : t('history.compare.missing', { count: 2 - chosen.length })}
      </Text>
      <Button
        isDisabled={!older}
        onPress={() => navigate(paths.compare(mockupId, older.id, newer.id))}
      >
        {t('history.compare.submit')}
      </Button>
    </div>
  );
}

function Row(props: {
  version: Version;
  /** The version that it was restored from, where that is shown too. */
  from: Version | undefined;
  isNewest: boolean;
  /** Its place among those that are kept, from 1 for the oldest. */
  number: number;
  choice: ReactNode;
  /** What changes its tag. */
  tag: ReactNode;
  /** What else there is to do with it. */
  actions: ReactNode;
}) {
  const { version, from, isNewest, number, choice, tag, actions } = props;
  const { mockupId, id, createdAt, createdBy, layoutData } = version;
  const { message, restoredFrom } = version;
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const paths = usePaths();
  return (
    <li className={styles.version}>
      {choice}
      <div className={styles.thumbnail}>
        <LayoutThumbnail items={layoutData} />
      </div>
      <div className={styles.about}>
        <div className={styles.name}>
          <Text color="secondary">
            {t('history.number', { number: String(number) })}
          </Text>
          <Link href={paths.version(mockupId, id)} weight="bold">
            {titleOf(version)}
          </Link>
          {isNewest && <Badge size="small">{t('history.newest')}</Badge>}
          {tag}
        </div>
        {message && (
          <Text as="p" dir="auto" className={styles.message}>
            {message}
          </Text>
        )}
        <Text as="p" variant="body-small" color="secondary">
          <Person entityRef={createdBy} />, <Moment at={createdAt} />,{' '}
          {t('history.items', { count: layoutData.length })}
        </Text>
        {restoredFrom && (
          <Text as="p" variant="body-small" color="secondary">
            {t('history.restoredFrom')}{' '}
            <TextLink
              href={paths.version(mockupId, restoredFrom)}
              variant="body-small"
            >
              {from ? titleOf(from) : t('history.olderVersion')}
            </TextLink>
          </Text>
        )}
      </div>
      {actions}
    </li>
  );
}
