import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonLink } from '@backstage/ui';
import { Alert, ActionDialog, Moment, TextLink } from '@internal/pages';
import type { Version } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { Person } from '../components/Person';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { readAfter, type ReadMockup } from './HistoryFrame';
import { useVersionTitle } from './useVersionTitle';

/**
 * Asks, and saves an older version as a new one. If another user has saved since the page was
 * read, it says who, and asks once more.
 */
function RestoreDialog(props: {
  version: Version;
  read: ReadMockup;
  /** Called with the mockup as it is then. */
  onRestored: (read: ReadMockup) => void;
  /** Called after another user has saved, with the mockup as it is now. */
  onConflict: (read: ReadMockup) => void;
  onClose: () => void;
}) {
  const { version, read, onRestored, onConflict, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const titleOf = useVersionTitle();
  const paths = usePaths();
  // What the page showed when the user decided.
  const [shown] = useState(read);
  const [current, setCurrent] = useState<ReadMockup>();
  const newest = current?.mockup.latestVersion;

  async function restore() {
    const over = current ?? shown;
    try {
      const { version: latestVersion, etag } = await api.restoreVersion(
        version.mockupId,
        version.id,
        { ifMatch: over.etag },
      );
      onRestored({ mockup: { ...shown.mockup, latestVersion }, etag });
      return true;
    } catch (error) {
      const now = await readAfter(error, () => api.getMockup(version.mockupId));
      const { latestVersion: made } = now.mockup;
      if (
        made?.restoredFrom === version.id &&
        made.id !== over.mockup.latestVersion?.id
      ) {
        // It was this page: restored, but the answer was lost on its way.
        onRestored(now);
        return true;
      }
      setCurrent(now);
      onConflict(now);
      return false;
    }
  }

  return (
    <ActionDialog
      title={t('history.restore.title', { title: titleOf(version) })}
      texts={[t('history.restore.meaning')]}
      submit={t(current ? 'history.restore.anyway' : 'history.restore.submit')}
      failed={t('history.restore.failed')}
      onSubmit={restore}
      onClose={onClose}
    >
      {newest && (
        <Alert
          role="alert"
          status="warning"
          icon
          title={t('history.restore.conflict')}
          description={
            <>
              {newest.id === shown.mockup.latestVersion?.id ? (
                t('history.restore.renamed')
              ) : (
                <>
                  {titleOf(newest)}, <Person entityRef={newest.createdBy} />,{' '}
                  <Moment at={newest.createdAt} />.{' '}
                  <TextLink
                    href={paths.compare(
                      version.mockupId,
                      newest.id,
                      version.id,
                    )}
                  >
                    {t('history.restore.look')}
                  </TextLink>
                </>
              )}
            </>
          }
        />
      )}
    </ActionDialog>
  );
}

/**
 * Restores versions from a page that shows some of them.
 *
 * @param onChanged - called once the mockup has other versions
 */
export function useRestoring(opened: ReadMockup, onChanged?: () => void) {
  const [read, setRead] = useState(opened);
  const [asked, setAsked] = useState<Version>();
  const [restored, setRestored] = useState<Version>();
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const paths = usePaths();
  const newest = read.mockup.latestVersion;
  const take = (changed: ReadMockup) => {
    setRead(changed);
    onChanged?.();
  };
  return {
    /** The mockup as it is now. */
    read,
    setRead,
    /** Goes on with the mockup after another user has changed it. */
    take,
    newest,
    isRestored: restored !== undefined,
    ask: setAsked,
    /** What asks whether to restore a version, other than the newest. */
    buttonOf: (version: Version) =>
      newest &&
      version.id !== newest.id && (
        <Button
          size="small"
          variant="secondary"
          aria-label={t('history.restore.open', { title: titleOf(version) })}
          onPress={() => setAsked(version)}
        >
          {t('history.restore.button')}
        </Button>
      ),
    /** What was restored. */
    notice: restored && (
      <Alert
        status="success"
        icon
        title={t('history.restore.done', { title: titleOf(restored) })}
        customActions={
          <ButtonLink size="small" href={paths.mockup(opened.mockup.id)}>
            {t('history.toEditor')}
          </ButtonLink>
        }
      />
    ),
    dialog: asked && (
      <RestoreDialog
        version={asked}
        read={read}
        onRestored={made => {
          take(made);
          setRestored(asked);
        }}
        onConflict={take}
        onClose={() => setAsked(undefined)}
      />
    ),
  };
}
