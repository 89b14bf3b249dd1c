import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text } from '@backstage/ui';
import { EmptyState, Moment } from '@internal/pages';
import type { LayoutItem, MockupComment } from 'backstage-plugin-mockup-common';
import { Person } from '../components/Person';
import { useWords } from '../history/difference/useWords';
import { mockupTranslationRef } from '../translation';
import styles from './review.module.css';

interface CommentListProps {
  comments: readonly MockupComment[];
  items: readonly LayoutItem[];
  mayDelete: (comment: MockupComment) => boolean;
  isPendingOf: (id: string) => boolean;
  onChoose: (item: string) => void;
  onResolve: (comment: MockupComment, resolved: boolean) => void;
  onDelete: (comment: MockupComment) => void;
}

/** The open comments, and behind them those that are resolved. */
export function CommentList(props: CommentListProps) {
  const { comments } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const open = comments.filter(({ resolvedAt }) => !resolvedAt);
  const resolved = comments.filter(({ resolvedAt }) => resolvedAt);
  if (comments.length === 0) {
    return <EmptyState text={t('review.none')} />;
  }
  return (
    <>
      {open.length > 0 && <List {...props} comments={open} />}
      {resolved.length > 0 && (
        <details className={styles.resolved}>
          <summary>{t('review.resolved', { count: resolved.length })}</summary>
          <List {...props} comments={resolved} />
        </details>
      )}
    </>
  );
}

function List(props: CommentListProps) {
  const { comments } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <ol className={styles.list} aria-label={t('review.list')}>
      {comments.map(comment => (
        <Comment key={comment.id} {...props} comment={comment} />
      ))}
    </ol>
  );
}

function Comment(props: CommentListProps & { comment: MockupComment }) {
  const { comment, items, mayDelete, isPendingOf } = props;
  const { nameOfItem } = useWords();
  const { onChoose, onResolve, onDelete } = props;
  const { item: itemId, text, author, createdAt, resolvedBy } = comment;
  const { t } = useTranslationRef(mockupTranslationRef);
  const item = items.find(({ i }) => i === itemId);
  const action = {
    size: 'small',
    variant: 'secondary',
    isPending: isPendingOf(comment.id),
  } as const;
  return (
    <li className={styles.comment}>
      <Text as="p" variant="body-small" color="secondary">
        <Person entityRef={author} />, <Moment at={createdAt} />
      </Text>
      {itemId !== undefined && !item && (
        <Text as="p" variant="body-small" color="secondary">
          {t('review.gone')}
        </Text>
      )}
      <Text as="p" dir="auto" className={styles.text}>
        {text}
      </Text>
      {resolvedBy && (
        <Text as="p" variant="body-small" color="secondary">
          {t('review.resolvedBy')} <Person entityRef={resolvedBy} />
        </Text>
      )}
      <Flex gap="2" style={{ flexWrap: 'wrap' }}>
        {item && (
          <Button
            size="small"
            variant="tertiary"
            onPress={() => onChoose(item.i)}
          >
            {t('review.aboutItem', { item: nameOfItem(item) })}
          </Button>
        )}
        <Button
          {...action}
          aria-label={t(resolvedBy ? 'review.reopenOf' : 'review.resolveOf', {
            author,
          })}
          onPress={() => onResolve(comment, !resolvedBy)}
        >
          {t(resolvedBy ? 'review.reopen' : 'review.resolve')}
        </Button>
        {mayDelete(comment) && (
          <Button
            {...action}
            destructive
            aria-label={t('review.deleteOf', { author })}
            onPress={() => onDelete(comment)}
          >
            {t('review.delete')}
          </Button>
        )}
      </Flex>
    </li>
  );
}
