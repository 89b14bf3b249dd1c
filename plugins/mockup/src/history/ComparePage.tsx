import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  ButtonLink,
  Container,
  Flex,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { Moment, PageHeader, TextLink } from '@internal/pages';
import type { Version } from 'backstage-plugin-mockup-common';
import { useParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { Person } from '../components/Person';
import { usePaths } from '../routes';
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
  const { buttonOf, notice, dialog } = useRestoring(props.read);
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const paths = usePaths();
  const title = t('history.compare.title', {
    before: titleOf(before),
    after: titleOf(after),
  });
  const noteOf = (version: Version) => (
    <>
      <Note version={version} />
      {buttonOf(version)}
    </>
  );
  return (
    <>
      <PageHeader
        title={title}
        customActions={
          <ButtonLink variant="secondary" href={paths.versions(mockupId)}>
            {t('history.toVersions')}
          </ButtonLink>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <div role="status">{notice}</div>
          <LayoutDifferenceView
            before={before.layoutData}
            after={after.layoutData}
            beforeTitle={<Title side="before" text={titleOf(before)} />}
            afterTitle={<Title side="after" text={titleOf(after)} />}
            beforeNote={noteOf(before)}
            afterNote={noteOf(after)}
          />
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

/** Who has saved a version, when and why, and the way to it. */
function Note({ version }: { version: Version }) {
  const { id, mockupId, createdAt, createdBy, message } = version;
  const { t } = useTranslationRef(mockupTranslationRef);
  const href = usePaths().version(mockupId, id);
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
    </>
  );
}
