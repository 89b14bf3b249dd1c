import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonLink, Container, Flex, Text } from '@backstage/ui';
import { Moment, PageHeader, TextLink } from '@internal/pages';
import type { Version } from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import { useParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { LayoutView } from '../components/LayoutView';
import { Person } from '../components/Person';
import { PngButton } from '../components/PngButton';
import { useReview } from '../review/useReview';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { HistoryFrame, type ReadMockup } from './HistoryFrame';
import styles from './history.module.css';
import { useRestoring } from './RestoreDialog';
import { useVersionTitle } from './useVersionTitle';

/** One version, to look at: its address can be given to others. */
export function VersionPage() {
  const { id = '', versionId = '' } = useParams();
  const api = useApi(mockupApiRef);
  return (
    <HistoryFrame
      key={`${id}/${versionId}`}
      mockupId={id}
      load={() => api.getVersion(id, versionId)}
    >
      {({ read, value }) => <LookAt read={read} version={value} />}
    </HistoryFrame>
  );
}

function LookAt(props: { read: ReadMockup; version: Version }) {
  const { version } = props;
  const { id, mockupId, createdAt, createdBy, layoutData } = version;
  const { message, restoredFrom } = version;
  const { newest, isRestored, ask, notice, dialog } = useRestoring(props.read);
  const { t } = useTranslationRef(mockupTranslationRef);
  const title = useVersionTitle()(version);
  const paths = usePaths();
  const drawing = useRef<HTMLDivElement>(null);
  const [said, setSaid] = useState('');
  const review = useReview(mockupId, setSaid);
  return (
    <>
      <PageHeader
        title={title}
        metadata={[
          {
            label: t('history.by'),
            value: <Person entityRef={createdBy} />,
          },
          { label: t('history.at'), value: <Moment at={createdAt} /> },
          ...(restoredFrom
            ? [
                {
                  label: t('history.restoredFrom'),
                  value: (
                    <TextLink href={paths.version(mockupId, restoredFrom)}>
                      {t('history.olderVersion')}
                    </TextLink>
                  ),
                },
              ]
            : []),
        ]}
        customActions={
          <ButtonLink variant="secondary" href={paths.versions(mockupId)}>
            {t('history.toVersions')}
          </ButtonLink>
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <div role="status">
            {notice}
            {said && <Text as="p">{said}</Text>}
            {!isRestored && newest && newest.id !== id && (
              <Text as="p" color="secondary">
                {t('history.notNewest')}
              </Text>
            )}
          </div>
          {review.notice}
          {message && (
            <Text as="p" dir="auto" className={styles.message}>
              {message}
            </Text>
          )}
          <Flex gap="2" style={{ flexWrap: 'wrap' }}>
            {layoutData.length > 0 && <PngButton of={drawing} name={title} />}
            {review.actionOf(version)}
            {newest && newest.id !== id && (
              <>
                <ButtonLink
                  variant="secondary"
                  href={paths.compare(mockupId, id, newest.id)}
                >
                  {t('history.compare.withNewest')}
                </ButtonLink>
                <Button onPress={() => ask(version)}>
                  {t('history.restore.button')}
                </Button>
              </>
            )}
          </Flex>
          <section className={styles.drawing} aria-label={title}>
            {layoutData.length > 0 ? (
              <div ref={drawing}>
                <LayoutView items={layoutData} isStacked isPhone={false} />
              </div>
            ) : (
              <Text as="p" color="secondary" className={styles.empty}>
                {t('history.empty')}
              </Text>
            )}
          </section>
        </Flex>
      </Container>
      {dialog}
    </>
  );
}
