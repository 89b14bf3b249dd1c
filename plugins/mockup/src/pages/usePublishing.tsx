import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Badge, Button, Flex, Link, Text } from '@backstage/ui';
import {
  ifThere,
  Moment,
  ReadFailure,
  useRead,
  useTask,
} from '@internal/pages';
import {
  mockupPagePublishPermission,
  type PublishedPage,
  type Version,
} from 'backstage-plugin-mockup-common';
import { type ReactNode, useState } from 'react';
import { mockupApiRef } from '../api';
import { Person } from '../components/Person';
import { useVersionTitle } from '../history/useVersionTitle';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { Audience } from './Audience';
import rows from '../components/rows.module.css';
import { PublishDialog } from './PublishDialog';

type Named = Pick<Version, 'id' | 'versionTag' | 'createdAt'>;

/** Publishes versions of a mockup, and takes pages back, where the user may. */
export function usePublishing(
  mockup: { id: string; name: string },
  onSaid: (text: string) => void,
) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const titleOf = useVersionTitle();
  const { allowed } = usePermission({
    permission: mockupPagePublishPermission,
    resourceRef: mockup.id,
  });
  const read = useRead(() => api.listPagesOf(mockup.id), [api, mockup.id]);
  const [asked, setAsked] = useState<{
    version: Named;
    page?: PublishedPage;
  }>();
  const { isPendingOf, notes, run } = useTask();
  const pages = (read.value ?? []).filter(isPublished);

  const change = async (
    of: string,
    failed: string,
    work: () => Promise<string>,
  ) => {
    await run(failed, async () => onSaid(await work()), of);
    read.retry();
  };
  const putOn = (version: Named, page: PublishedPage) =>
    change(version.id, t('pages.publish.failed'), async () => {
      const { path } = page;
      await api.publishPage(path, {
        mockupId: mockup.id,
        versionId: version.id,
      });
      return t('pages.publish.done', { title: titleOf(version), path });
    });
  const takeBack = (path: string) =>
    change(path, t('pages.takeBack.failed'), async () => {
      await ifThere(api.takePageBack(path));
      return t('pages.takeBack.done', { path });
    });

  /** What to do with a version: the first page is asked for, a later version takes its place. */
  const actionOf = (version: Version): ReactNode => {
    // Where there are several, one is chosen by its path.
    const page = pages.length === 1 ? pages[0] : undefined;
    const title = titleOf(version);
    if (pages.some(each => each.publication.versionId === version.id)) {
      return <Badge size="small">{t('pages.publish.shown')}</Badge>;
    }
    return allowed && read.value ? (
      <Button
        size="small"
        variant="secondary"
        isPending={isPendingOf(version.id)}
        aria-label={
          page
            ? t('pages.publish.putOpen', { title, path: page.path })
            : t('pages.publish.open', { title })
        }
        onPress={() => (page ? putOn(version, page) : setAsked({ version }))}
      >
        {t(page ? 'pages.publish.put' : 'pages.publish.button')}
      </Button>
    ) : null;
  };

  return {
    actionOf,
    /** The pages that the mockup has. */
    overview: (
      <>
        {notes}
        <ReadFailure title={t('pages.publishedFailed')} state={read} />
        {pages.length > 0 && (
          <ul className={rows.rows} aria-label={t('pages.published')}>
            {pages.map(page => (
              <PageOfMockup
                key={page.path}
                page={page}
                isPending={isPendingOf(page.path)}
                onChange={
                  allowed
                    ? () =>
                        setAsked({
                          version: {
                            id: page.publication.versionId,
                            versionTag: page.publication.versionTag,
                            createdAt: page.publication.publishedAt,
                          },
                          page,
                        })
                    : undefined
                }
                onTakeBack={() => takeBack(page.path)}
              />
            ))}
          </ul>
        )}
      </>
    ),
    dialog: asked && (
      <PublishDialog
        mockup={mockup}
        versionId={asked.version.id}
        versionTitle={asked.page?.title ?? titleOf(asked.version)}
        page={asked.page}
        onPublished={({ path }) => {
          onSaid(
            t('pages.publish.done', { title: titleOf(asked.version), path }),
          );
          read.retry();
        }}
        onClose={() => setAsked(undefined)}
      />
    ),
  };
}

/** A page whose publication the user may know. */
type Published = PublishedPage & Required<Pick<PublishedPage, 'publication'>>;

function isPublished(page: PublishedPage): page is Published {
  return page.publication !== undefined;
}

function PageOfMockup(props: {
  page: Published;
  isPending: boolean;
  /** Nothing for those who may not publish. */
  onChange?: () => void;
  onTakeBack: () => void;
}) {
  const { page, isPending, onChange, onTakeBack } = props;
  const { path, title, publication } = page;
  const { t } = useTranslationRef(mockupTranslationRef);
  const href = usePaths().page(path);
  const { audience, home, publishedAt, publishedBy } = publication;
  return (
    <li className={rows.row}>
      <div className={rows.words}>
        <div>
          <Link href={href} weight="bold">
            {title}
          </Link>{' '}
          {home && <Badge size="small">{t('pages.home')}</Badge>}
        </div>
        <Text as="p" variant="body-small" color="secondary">
          {href}, <Audience of={audience} />, <Person entityRef={publishedBy} />
          , <Moment at={publishedAt} />
        </Text>
      </div>
      {onChange && (
        <Flex gap="2" style={{ flexWrap: 'wrap' }}>
          <Button
            size="small"
            variant="secondary"
            aria-label={t('pages.publish.changeOpen', { path })}
            onPress={onChange}
          >
            {t('pages.publish.change')}
          </Button>
          <Button
            size="small"
            variant="secondary"
            isPending={isPending}
            aria-label={t('pages.takeBack.open', { path })}
            onPress={onTakeBack}
          >
            {t('pages.takeBack.button')}
          </Button>
        </Flex>
      )}
    </li>
  );
}
