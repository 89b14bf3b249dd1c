import {
  BreadcrumbEntry,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { ifThere, statusOf, UnreadPage, useRead } from '@internal/pages';
import type { MockupWithLatestVersion } from 'backstage-plugin-mockup-common';
import type { ReactNode } from 'react';
import { mockupApiRef } from '../api';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';

/** A mockup with its entity tag, by which the backend notices that another user has saved since. */
export interface ReadMockup {
  mockup: MockupWithLatestVersion;
  etag: string;
}

/**
 * The mockup as it is now, after a change was refused because another user has saved meanwhile.
 *
 * @throws error, if that was refused for another reason
 */
export async function readAfter(
  error: unknown,
  read: () => Promise<ReadMockup | undefined>,
): Promise<ReadMockup> {
  const now = statusOf(error) === 412 ? await read() : undefined;
  if (!now) {
    throw error;
  }
  return now;
}

/** What a page about a mockup needs, read by one function. Nothing where it is not there. */
export function HistoryFrame<TValue>(props: {
  mockupId: string;
  /** What is read there; the versions, where nothing is said. */
  about?: { title: string; href: string; failed: string };
  /** What else there is to read. It does not change while the page is there. */
  load: () => Promise<TValue | undefined>;
  children: (loaded: { value: TValue; read: ReadMockup }) => ReactNode;
}) {
  const { mockupId, load, children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const paths = usePaths();
  const versionsHref = paths.versions(mockupId);
  const about = props.about ?? {
    title: t('history.versions'),
    href: versionsHref,
    failed: t('history.failed'),
  };
  const state = useRead(async () => {
    const [read, more] = await Promise.all([
      api.getMockup(mockupId),
      // What belongs to a mockup is missing with it.
      ifThere(load()),
    ]);
    return { read, more };
  }, [api, mockupId]);
  const { read, more } = state.value ?? {};

  if (read && more !== undefined && !state.error) {
    return (
      <BreadcrumbEntry
        entry={{ label: read.mockup.name, href: paths.mockup(mockupId) }}
      >
        <BreadcrumbEntry entry={{ label: about.title, href: about.href }}>
          {children({ read, value: more })}
        </BreadcrumbEntry>
      </BreadcrumbEntry>
    );
  }
  return (
    <UnreadPage
      title={read?.mockup.name ?? about.title}
      state={state}
      failed={about.failed}
      missing={{
        title: t(read ? 'history.missing' : 'history.missingMockup'),
        href: read ? versionsHref : paths.list,
        link: t(read ? 'history.toVersions' : 'history.toList'),
      }}
    />
  );
}
