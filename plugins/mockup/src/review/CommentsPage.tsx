import {
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { ButtonLink, Container, Flex, Text } from '@backstage/ui';
import {
  ifThere,
  newIdempotencyKey,
  PageHeader,
  useLaterFocus,
  useTask,
} from '@internal/pages';
import {
  allItems,
  type LayoutItem,
  type MockupComment,
  mockupDeletePermission,
} from 'backstage-plugin-mockup-common';
import { useMemo, useState } from 'react';
import { useParams } from 'react-router-dom';
import useAsync from 'react-use/esm/useAsync';
import { mockupApiRef } from '../api';
import { LayoutView } from '../components/LayoutView';
import { useWords } from '../history/difference/useWords';
import { HistoryFrame, type ReadMockup } from '../history/HistoryFrame';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { CommentForm, isCommentable } from './CommentForm';
import { CommentList } from './CommentList';
import styles from './review.module.css';

const NO_ITEMS: LayoutItem[] = [];

/** What people say of a mockup, beside its newest version. */
export function CommentsPage() {
  const { id = '' } = useParams();
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const href = usePaths().comments(id);
  return (
    <HistoryFrame
      key={id}
      mockupId={id}
      about={{ title: t('review.open'), href, failed: t('review.failed') }}
      load={() => api.listComments(id)}
    >
      {({ read, value }) => <Comments read={read} loaded={value} />}
    </HistoryFrame>
  );
}

function Comments(props: { read: ReadMockup; loaded: MockupComment[] }) {
  const { mockup } = props.read;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const identityApi = useApi(identityApiRef);
  const { nameOfItem } = useWords();
  const paths = usePaths();
  const { value: me } = useAsync(
    async () => (await identityApi.getBackstageIdentity()).userEntityRef,
    [identityApi],
  );
  const { allowed: mayDelete } = usePermission({
    permission: mockupDeletePermission,
    resourceRef: mockup.id,
  });
  const [comments, setComments] = useState(props.loaded);
  /** The item that is commented on; the whole where there is none. */
  const [chosen, setChosen] = useState<string>();
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const [said, setSaid] = useState('');
  const [status, focusStatus] = useLaterFocus<HTMLDivElement>();
  const { isPending, isPendingOf, notes, run } = useTask();
  const layout = mockup.latestVersion?.layoutData ?? NO_ITEMS;
  const items = useMemo(
    () => allItems(layout).map(({ item }) => item),
    [layout],
  );

  /** @returns whether it was done; the page says so either way */
  const attempt = (
    failed: string,
    done: string,
    work: () => Promise<(before: MockupComment[]) => MockupComment[]>,
    of?: string,
  ): Promise<boolean> => {
    setSaid('');
    const change = async () => {
      setComments(await work());
      setSaid(done);
      if (of !== undefined) {
        // The button that asked for it goes with its comment, or to those that are resolved.
        focusStatus();
      }
    };
    return run(failed, change, of);
  };
  const say = (text: string) =>
    attempt(t('review.failedTo.say'), t('review.said'), async () => {
      const comment = await api.createComment(
        mockup.id,
        { text, ...(chosen !== undefined && { item: chosen }) },
        { idempotencyKey },
      );
      setIdempotencyKey(newIdempotencyKey());
      return before => [...before, comment];
    });
  const resolve = ({ id }: MockupComment, resolved: boolean) =>
    attempt(
      t('review.failedTo.resolve'),
      t(resolved ? 'review.done.resolved' : 'review.done.reopened'),
      async () => {
        const changed = await api.updateComment(mockup.id, id, { resolved });
        return before => before.map(each => (each.id === id ? changed : each));
      },
      id,
    );
  const remove = ({ id }: MockupComment) =>
    attempt(
      t('review.failedTo.delete'),
      t('review.done.deleted'),
      async () => {
        await ifThere(api.deleteComment(mockup.id, id));
        return before => before.filter(each => each.id !== id);
      },
      id,
    );

  const openOf = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { item, resolvedAt } of comments) {
      if (item !== undefined && !resolvedAt) {
        counts.set(item, (counts.get(item) ?? 0) + 1);
      }
    }
    return counts;
  }, [comments]);
  const overlayOf = useMemo(
    () => (item: LayoutItem) => {
      if (!isCommentable(item)) {
        return null;
      }
      const count = openOf.get(item.i) ?? 0;
      return (
        <button
          type="button"
          // The list of items in the form is for the keyboard: a thousand stops of Tab are not.
          tabIndex={-1}
          className={styles.mark}
          aria-pressed={chosen === item.i}
          aria-label={t('review.choose', { item: nameOfItem(item), count })}
          data-commented={count > 0 || undefined}
          onClick={() =>
            setChosen(before => (before === item.i ? undefined : item.i))
          }
        >
          {count > 0 && (
            <span className={styles.count} aria-hidden>
              {count}
            </span>
          )}
        </button>
      );
    },
    [chosen, nameOfItem, openOf, t],
  );

  return (
    <>
      <PageHeader
        title={t('review.title', { name: mockup.name })}
        customActions={
          <Flex gap="2" style={{ flexWrap: 'wrap' }}>
            <ButtonLink variant="secondary" href={paths.versions(mockup.id)}>
              {t('history.toVersions')}
            </ButtonLink>
            <ButtonLink variant="secondary" href={paths.mockup(mockup.id)}>
              {t('history.toEditor')}
            </ButtonLink>
          </Flex>
        }
      />
      <Container>
        <div className={styles.page}>
          <Flex direction="column" gap="4" style={{ minWidth: 0 }}>
            <div role="status" ref={status} tabIndex={-1}>
              {said && <Text as="p">{said}</Text>}
            </div>
            {notes}
            <CommentForm
              items={items}
              chosen={chosen}
              onChoose={setChosen}
              isPending={isPending}
              onSubmit={say}
            />
            <CommentList
              comments={comments}
              items={items}
              mayDelete={({ author }) => mayDelete || author === me}
              isPendingOf={isPendingOf}
              onChoose={setChosen}
              onResolve={resolve}
              onDelete={remove}
            />
          </Flex>
          <section className={styles.drawing} aria-label={t('review.drawing')}>
            {layout.length > 0 ? (
              // Also what a phone leaves out is there to be talked about.
              <LayoutView
                items={layout}
                overlayOf={overlayOf}
                isStacked
                isPhone={false}
              />
            ) : (
              <Text as="p" color="secondary">
                {t(mockup.latestVersion ? 'history.empty' : 'review.noVersion')}
              </Text>
            )}
          </section>
        </div>
      </Container>
    </>
  );
}
