import {
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { UnreadPage, useRead } from '@internal/pages';
import {
  isEqualJson,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import { useParams } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { useMay } from '../components/useMay';
import { usePaths } from '../routes';
import { mockupTranslationRef } from '../translation';
import { Editor } from './Editor';
import { type Saved, savedOf } from './model/content';
import type { OpenedDraft } from './saving/DraftDialog';
import { type Draft, DraftStore } from './saving/drafts';

/** The editor of the mockup that the address names, with its newest version. */
export function EditorPage() {
  const { id = '' } = useParams();
  return <OpenedMockup key={id} id={id} />;
}

function OpenedMockup({ id }: { id: string }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const identityApi = useApi(identityApiRef);
  const paths = usePaths();
  const mayUpdate = useMay({
    permission: mockupUpdatePermission,
    resourceRef: id,
  });
  const opened = useRead(async () => {
    const [answer, { userEntityRef }] = await Promise.all([
      api.getMockup(id),
      identityApi.getBackstageIdentity(),
    ]);
    if (!answer) {
      return undefined;
    }
    const saved = savedOf(answer);
    const drafts = new DraftStore(userEntityRef);
    return { saved, drafts, offered: await offeredOf(drafts, saved) };
  }, [api, id, identityApi]);

  /** What is to be offered. A draft that says nothing new was saved while its page was left. */
  async function offeredOf(drafts: DraftStore, saved: Saved) {
    const offered: OpenedDraft[] = [];
    for (const draft of drafts.read(id)) {
      if (isEqualJson(draft.content, saved.content)) {
        await drafts.remove(id, draft.id).catch(() => {});
      } else {
        offered.push({ ...draft, base: await baseOf(draft, saved) });
      }
    }
    return offered;
  }

  /** What a draft was made from: saving it then shows what others have saved since. */
  async function baseOf(draft: Draft, saved: Saved): Promise<Saved> {
    if (draft.etag === saved.etag) {
      return saved;
    }
    const { versionId, etag, base } = draft;
    // The version may be gone: then all that is saved counts as changed since.
    const version =
      versionId === undefined
        ? undefined
        : await api.getVersion(id, versionId).catch(() => undefined);
    return {
      content: { ...base, items: version?.layoutData ?? [] },
      etag,
      versionId,
      updatedAt: draft.at,
    };
  }

  // A page that was opened stays: what is asked again is not to replace what was edited.
  if (opened.value && mayUpdate !== undefined) {
    return (
      <Editor
        mockupId={id}
        opened={opened.value.saved}
        offered={opened.value.offered}
        drafts={opened.value.drafts}
        isReadOnly={!mayUpdate}
      />
    );
  }
  return (
    <UnreadPage
      title={t('editor.untitled')}
      state={{ ...opened, loading: opened.loading || Boolean(opened.value) }}
      failed={t('editor.loadFailed')}
      missing={{
        title: t('editor.missing.title'),
        description: t('editor.missing.text'),
        href: paths.list,
        link: t('editor.missing.list'),
      }}
    />
  );
}
