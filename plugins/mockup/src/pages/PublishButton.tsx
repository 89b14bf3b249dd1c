import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Button, ButtonLink } from '@backstage/ui';
import { useTask } from '@internal/pages';
import {
  mockupPagePublishPermission,
  type PublishedPage,
} from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { PublishDialog } from './PublishDialog';

/** Publishes the newest version of a mockup, for those who may. */
export function PublishButton(props: {
  mockup: { id: string; name: string };
  /** The newest version, nothing while there is none. */
  versionId: string | undefined;
  /** Saves what is not saved yet. Returns whether that is done. */
  onOpen: () => Promise<boolean>;
  onSaid: (text: string) => void;
}) {
  const { mockup, versionId, onOpen, onSaid } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const paths = usePaths();
  const { allowed } = usePermission({
    permission: mockupPagePublishPermission,
    resourceRef: mockup.id,
  });
  const { isPending, run } = useTask();
  const [asked, setAsked] = useState<{ page?: PublishedPage }>();
  const [published, setPublished] = useState<PublishedPage>();
  if (!allowed) {
    return null;
  }

  const open = () =>
    run('', async () => {
      if (await onOpen()) {
        // Those that there are can only help: the dialog works without.
        const pages = await api.listPagesOf(mockup.id).catch(() => []);
        setAsked({ page: pages.find(({ publication }) => publication) });
      }
    });
  return (
    <>
      {published && (
        <ButtonLink variant="tertiary" href={paths.page(published.path)}>
          {t('pages.publish.see')}
        </ButtonLink>
      )}
      <Button variant="secondary" isPending={isPending} onPress={open}>
        {t('pages.publish.button')}
      </Button>
      {asked && versionId !== undefined && (
        <PublishDialog
          mockup={mockup}
          versionId={versionId}
          versionTitle={t('pages.publish.newest')}
          page={asked.page}
          onPublished={page => {
            setPublished(page);
            onSaid(
              t('pages.publish.done', { title: mockup.name, path: page.path }),
            );
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
