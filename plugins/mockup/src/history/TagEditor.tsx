import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { ButtonIcon } from '@backstage/ui';
import { RiPriceTag3Line } from '@remixicon/react';
import { ActionDialog, Alert } from '@internal/pages';
import { MOCKUP_LIMITS, type Version } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { isWithin, LimitedField } from '../components/LimitedField';
import { mockupTranslationRef } from '../translation';
import { readAfter, type ReadMockup } from './HistoryFrame';
import { useVersionTitle } from './useVersionTitle';

/** The bounds of a tag. */
export const TAG = { most: MOCKUP_LIMITS.versionTag };

interface Edit {
  version: Version;
  read: ReadMockup;
  /** Called with the version and the mockup as they are then. */
  onSaved: (version: Version, read: ReadMockup) => void;
  /** Called after another user has saved, with the mockup as it is now. */
  onConflict: (read: ReadMockup) => void;
}

/** A button that asks for another tag of a version, or none. */
export function TagEditor(props: Edit) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ButtonIcon
        size="small"
        variant="tertiary"
        icon={<RiPriceTag3Line />}
        aria-label={t('history.tag.open', { title: titleOf(props.version) })}
        onPress={() => setOpen(true)}
      />
      {isOpen && <TagDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function TagDialog(props: Edit & { onClose: () => void }) {
  const { version, read, onSaved, onConflict, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  // Where it was saved meanwhile, it has another title.
  const [title] = useState(useVersionTitle()(version));
  const [tag, setTag] = useState(version.versionTag ?? '');
  const [hasConflict, setConflict] = useState(false);

  async function save() {
    if (!isWithin(tag, TAG)) {
      return false;
    }
    setConflict(false);
    try {
      const { version: saved, etag } = await api.updateVersion(
        version.mockupId,
        version.id,
        { versionTag: tag.trim() || null },
        { ifMatch: read.etag },
      );
      const { latestVersion: newest } = read.mockup;
      const latestVersion = newest?.id === version.id ? saved : newest;
      onSaved(saved, { mockup: { ...read.mockup, latestVersion }, etag });
      return true;
    } catch (error) {
      const now = await readAfter(error, () => api.getMockup(version.mockupId));
      onConflict(now);
      setConflict(true);
      return false;
    }
  }

  return (
    <ActionDialog
      title={t('history.tag.open', { title })}
      texts={[t('history.tag.text')]}
      submit={t('history.tag.save')}
      failed={t('history.tag.failed')}
      onSubmit={save}
      onClose={onClose}
    >
      <LimitedField
        {...TAG}
        label={t('history.tag.label')}
        value={tag}
        onChange={setTag}
      />
      {hasConflict && (
        <Alert
          role="alert"
          status="warning"
          icon
          title={t('history.tag.failed')}
          description={t('history.tag.conflict')}
        />
      )}
    </ActionDialog>
  );
}
