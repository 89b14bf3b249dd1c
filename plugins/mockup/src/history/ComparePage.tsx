import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import {
  Button,
  ButtonLink,
  Container,
  Flex,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { Moment, PageHeader, TextLink } from '@internal/pages';
import { compareLayouts, type Version } from 'backstage-plugin-mockup-common';
import { useMemo, useState } from 'react';
import { useParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { CopyButton } from '../components/CopyButton';
import { Person } from '../components/Person';
import { compareRouteRef, versionRouteRef, versionsRouteRef } from '../routes';
import { mockupTranslationRef } from '../translation';
import { LayoutDifferenceView } from './difference/LayoutDifferenceView';
import { HistoryFrame, type ReadMockup } from './HistoryFrame';
import styles from './history.module.css';
import { useRestoring } from './RestoreDialog';
import { useVersionTitle } from './useVersionTitle';

/** Two versions side by side. */
export function ComparePage() {
  const { id = '', versionId = '', otherId = '' } = useParams();
  const api = useApi(mockupApiRef);
  return (
    <HistoryFrame
      key={`${id}/${versionId}/${otherId}`}
      mockupId={id}
      load={async () => {
        const [before, after] = await Promise.all([
          api.getVersion(id, versionId),
          api.getVersion(id, otherId),
        ]);
        return before && after && { before, after };
      }}
    >
      {({ read, value }) => <Comparison read={read} {...value} />}
    </HistoryFrame>
  );
}

function Comparison(props: {
  read: ReadMockup;
  before: Version;
  after: Version;
}) {
  const { before, after } = props;
  const { mockupId } = before;
  const { newest, ask, notice, dialog } = useRestoring(props.read);
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const toComparison = useRouteRef(compareRouteRef);
  const toVersions = useRouteRef(versionsRouteRef);
  const hrefOf = (from: Version, to: Version) =>
    toComparison?.({ id: mockupId, versionId: from.id, otherId: to.id }) ?? '';
  const title = t('history.compare.title', {
    before: titleOf(before),
    after: titleOf(after),
  });
  const noteOf = (version: Version) => (
    <Note
      version={version}
      title={titleOf(version)}
      onRestore={
        newest && version.id !== newest.id ? () => ask(version) : undefined
      }
    />
  );
  return (
    <>
      <PageHeader
        title={title}
        customActions={
          <ButtonLink
            variant="secondary"
            href={toVersions?.({ id: mockupId }) ?? ''}
          >
            {t('history.toVersions')}
          </ButtonLink>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <div role="status">{notice}</div>
          <div className={styles.buttons}>
            <ButtonLink variant="secondary" href={hrefOf(after, before)}>
              {t('history.compare.swap')}
            </ButtonLink>
            <CopyButton
              label={t('components.copy.link')}
              textOf={() =>
                new URL(hrefOf(before, after), window.location.href).href
              }
            />
          </div>
          <LayoutDifferenceView
            before={before.layoutData}
            after={after.layoutData}
            beforeTitle={<Title side="before" text={titleOf(before)} />}
            afterTitle={<Title side="after" text={titleOf(after)} />}
            beforeNote={noteOf(before)}
            afterNote={noteOf(after)}
          />
          <Patch before={before} after={after} />
        </Flex>
      </Container>
      {dialog}
    </>
  );
}

/** The title of a version; where it is cannot be seen by all. */
function Title({ side, text }: { side: 'before' | 'after'; text: string }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <>
      <VisuallyHidden>{t(`history.difference.${side}`)} </VisuallyHidden>
      {text}
    </>
  );
}

/** Who has saved a version, when and why, and the ways to it and back to it. */
function Note(props: {
  version: Version;
  title: string;
  onRestore?: () => void;
}) {
  const { version, title, onRestore } = props;
  const { id, mockupId, createdAt, createdBy, message } = version;
  const { t } = useTranslationRef(mockupTranslationRef);
  const href =
    useRouteRef(versionRouteRef)?.({ id: mockupId, versionId: id }) ?? '';
  return (
    <>
      {message && (
        <Text as="p" dir="auto" className={styles.message}>
          {message}
        </Text>
      )}
      <Text
        as="p"
        variant="body-small"
        color="secondary"
        className={styles.note}
      >
        <Person entityRef={createdBy} />, <Moment at={createdAt} />.{' '}
        <TextLink href={href} variant="body-small">
          {t('history.look')}
        </TextLink>
      </Text>
      {onRestore && (
        <Button
          size="small"
          variant="secondary"
          aria-label={t('history.restore.open', { title })}
          onPress={onRestore}
        >
          {t('history.restore.button')}
        </Button>
      )}
    </>
  );
}

/** The difference as programs take it. */
function Patch({ before, after }: { before: Version; after: Version }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const [isOpen, setOpen] = useState(false);
  const patch = useMemo(
    () => compareLayouts(before.layoutData, after.layoutData).patch,
    [before, after],
  );
  if (patch.length === 0) {
    return null;
  }
  const text = () => JSON.stringify(patch, null, 2);
  return (
    <details
      className={styles.patch}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>{t('history.patch.title', { count: patch.length })}</summary>
      {isOpen && (
        <Flex direction="column" align="start" gap="3">
          <Text as="p" color="secondary">
            {t('history.patch.explanation')}
          </Text>
          <CopyButton label={t('history.patch.copy')} textOf={text} />
          {/* It scrolls, which takes the focus of a keyboard. */}
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0} aria-label={t('history.patch.label')} role="region">
            {text()}
          </pre>
        </Flex>
      )}
    </details>
  );
}
