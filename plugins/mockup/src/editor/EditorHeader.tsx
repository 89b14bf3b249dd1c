import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonLink, Flex } from '@backstage/ui';
import { RiEditLine, RiPriceTag3Line } from '@remixicon/react';
import { ActionDialog, PageHeader } from '@internal/pages';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { type Dispatch, type ReactNode, useState } from 'react';
import { isWithin, LimitedField } from '../components/LimitedField';
import { DetailsDialog } from '../list/DetailsDialog';
import { TAG } from '../history/TagEditor';
import { usePaths } from '../routes';
import { ShareDialog } from '../sharing/ShareDialog';
import type { SharedChange } from '../sharing/useSharing';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Content, EditorAction } from './model/editorReducer';
import type { VersionNote } from './saving/useSaving';
import { Tool } from './Toolbar';

/** The name of the mockup, and what is done with it as a whole. */
export function EditorHeader(props: {
  mockupId: string;
  content: Content;
  isReadOnly: boolean;
  dispatch: Dispatch<EditorAction>;
  /** Whether something is being saved, which has to end first. */
  isSaving: boolean;
  /** What was said of a version that is not saved yet. */
  unsavedNote: VersionNote;
  onSave: (note: VersionNote) => void;
  /** More buttons. */
  children?: ReactNode;
  onSaveCopy: () => void;
  onShared: (change: SharedChange) => void;
}) {
  const { mockupId, content, isReadOnly, children } = props;
  const { dispatch, onSave, onSaveCopy, onShared } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const paths = usePaths();
  const [dialog, setDialog] = useState<'details' | 'note' | 'share'>();
  return (
    <>
      <PageHeader
        title={content.name}
        description={content.description || undefined}
        customActions={
          <Flex gap="2" align="center" className={styles.actions}>
            <ButtonLink variant="secondary" href={paths.versions(mockupId)}>
              {t('editor.toolbar.versions')}
            </ButtonLink>
            <Button variant="secondary" onPress={() => setDialog('share')}>
              {t('sharing.open')}
            </Button>
            <ButtonLink variant="secondary" href={paths.comments(mockupId)}>
              {t('review.open')}
            </ButtonLink>
            {children}
            <Button variant="secondary" onPress={onSaveCopy}>
              {t('editor.toolbar.saveCopy')}
            </Button>
            {!isReadOnly && (
              <>
                <Tool
                  variant="secondary"
                  icon={<RiEditLine />}
                  label={t('editor.details.edit')}
                  onPress={() => setDialog('details')}
                />
                <Tool
                  variant="secondary"
                  icon={<RiPriceTag3Line />}
                  label={t('editor.toolbar.saveNoted')}
                  onPress={() => setDialog('note')}
                />
              </>
            )}
          </Flex>
        }
      />
      {dialog === 'details' && (
        <DetailsDialog
          title={t('list.details.edit.title')}
          text={t('editor.details.text')}
          submit={t('editor.details.submit')}
          failed=""
          name={content.name}
          description={content.description}
          onSubmit={async details => dispatch({ type: 'describe', ...details })}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === 'note' && (
        <NoteDialog
          isSaving={props.isSaving}
          unsaved={props.unsavedNote}
          onSave={onSave}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === 'share' && (
        <ShareDialog
          mockupId={mockupId}
          name={content.name}
          onShared={onShared}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

const MESSAGE = { most: MOCKUP_LIMITS.message };

function NoteDialog(props: {
  isSaving: boolean;
  unsaved: VersionNote;
  onSave: (note: VersionNote) => void;
  onClose: () => void;
}) {
  const { isSaving, unsaved, onSave, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [tag, setTag] = useState(unsaved.versionTag ?? '');
  const [message, setMessage] = useState(unsaved.message ?? '');
  return (
    <ActionDialog
      title={t('editor.note.title')}
      texts={[]}
      submit={t('editor.toolbar.save')}
      isDisabled={isSaving}
      failed=""
      onClose={onClose}
      onSubmit={async () => isWithin(tag, TAG) && isWithin(message, MESSAGE)}
      onDone={() =>
        onSave({
          ...(tag.trim() && { versionTag: tag.trim() }),
          ...(message.trim() && { message: message.trim() }),
        })
      }
    >
      <LimitedField
        {...TAG}
        label={t('editor.note.tag')}
        description={t('editor.note.tagHelp')}
        value={tag}
        onChange={setTag}
      />
      <LimitedField
        {...MESSAGE}
        label={t('editor.note.message')}
        description={t('editor.note.messageHelp')}
        isLong
        value={message}
        onChange={setMessage}
      />
    </ActionDialog>
  );
}
