import { useRouteRef, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  ButtonIcon,
  ButtonLink,
  Flex,
  TextAreaField,
  TextField,
  Tooltip,
  TooltipTrigger,
} from '@backstage/ui';
import { RiEditLine, RiPriceTag3Line } from '@remixicon/react';
import { ActionDialog, PageHeader } from '@internal/pages';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { type Dispatch, type ReactNode, useState } from 'react';
import { versionsRouteRef } from '../routes';
import { ShareDialog } from '../sharing/ShareDialog';
import type { SharedChange } from '../sharing/useSharing';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Content, EditorAction } from './model/editorReducer';
import type { VersionNote } from './saving/useSaving';

/** The name of the mockup, and what is done with it as a whole. */
export function EditorHeader(props: {
  mockupId: string;
  content: Content;
  isReadOnly: boolean;
  dispatch: Dispatch<EditorAction>;
  onSave: (note: VersionNote) => void;
  /** More buttons. */
  children?: ReactNode;
  onSaveCopy: () => void;
  onShared: (change: SharedChange) => void;
}) {
  const { mockupId, content, isReadOnly, children } = props;
  const { dispatch, onSave, onSaveCopy, onShared } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const versionsPath = useRouteRef(versionsRouteRef)?.({ id: mockupId });
  const [dialog, setDialog] = useState<'details' | 'note' | 'share'>();
  return (
    <>
      <PageHeader
        title={content.name}
        description={content.description || undefined}
        customActions={
          <Flex gap="2" align="center" className={styles.actions}>
            {versionsPath !== undefined && (
              <ButtonLink variant="secondary" href={versionsPath}>
                {t('editor.toolbar.versions')}
              </ButtonLink>
            )}
            <Button variant="secondary" onPress={() => setDialog('share')}>
              {t('sharing.open')}
            </Button>
            {children}
            <Button variant="secondary" onPress={onSaveCopy}>
              {t('editor.toolbar.saveCopy')}
            </Button>
            {!isReadOnly && (
              <>
                <TooltipTrigger>
                  <ButtonIcon
                    variant="secondary"
                    icon={<RiEditLine />}
                    aria-label={t('editor.details.edit')}
                    onPress={() => setDialog('details')}
                  />
                  <Tooltip>{t('editor.details.edit')}</Tooltip>
                </TooltipTrigger>
                <TooltipTrigger>
                  <ButtonIcon
                    variant="secondary"
                    icon={<RiPriceTag3Line />}
                    aria-label={t('editor.toolbar.saveNoted')}
                    onPress={() => setDialog('note')}
                  />
                  <Tooltip>{t('editor.toolbar.saveNoted')}</Tooltip>
                </TooltipTrigger>
              </>
            )}
          </Flex>
        }
      />
      {dialog === 'details' && (
        <DetailsDialog
          content={content}
          onChange={details => dispatch({ type: 'describe', ...details })}
          onClose={() => setDialog(undefined)}
        />
      )}
      {dialog === 'note' && (
        <NoteDialog onSave={onSave} onClose={() => setDialog(undefined)} />
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

function DetailsDialog(props: {
  content: Content;
  onChange: (details: { name: string; description: string }) => void;
  onClose: () => void;
}) {
  const { content, onChange, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [name, setName] = useState(content.name);
  const [description, setDescription] = useState(content.description);
  const [isAsked, setAsked] = useState(false);
  const tooLong = useTooLong();
  const nameError =
    name.trim() === ''
      ? t('editor.details.nameMissing')
      : tooLong(name, MOCKUP_LIMITS.name);
  const descriptionError = tooLong(description, MOCKUP_LIMITS.description);

  return (
    <ActionDialog
      title={t('editor.details.title')}
      texts={[t('editor.details.text')]}
      submit={t('editor.details.done')}
      failed=""
      onClose={onClose}
      onSubmit={async () => {
        setAsked(true);
        if (nameError || descriptionError) {
          return false;
        }
        onChange({ name, description });
        return true;
      }}
    >
      <TextField
        label={t('editor.details.name')}
        value={name}
        onChange={setName}
        isRequired
        validationBehavior="aria"
        validate={() => (isAsked && nameError) || null}
      />
      <TextAreaField
        label={t('editor.details.description')}
        value={description}
        onChange={setDescription}
        validationBehavior="aria"
        validate={() => (isAsked && descriptionError) || null}
      />
    </ActionDialog>
  );
}

/** Says of a text whether it is longer than the portal takes. */
function useTooLong() {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (text: string, most: number) =>
    [...text].length > most
      ? t('editor.details.tooLong', { most: String(most) })
      : undefined;
}

function NoteDialog(props: {
  onSave: (note: VersionNote) => void;
  onClose: () => void;
}) {
  const { onSave, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [tag, setTag] = useState('');
  const [message, setMessage] = useState('');
  const tooLong = useTooLong();
  const tagError = tooLong(tag, MOCKUP_LIMITS.versionTag);
  const messageError = tooLong(message, MOCKUP_LIMITS.message);
  return (
    <ActionDialog
      title={t('editor.note.title')}
      texts={[]}
      submit={t('editor.toolbar.save')}
      failed=""
      onClose={onClose}
      onSubmit={async () => !tagError && !messageError}
      onDone={() =>
        onSave({
          ...(tag.trim() && { versionTag: tag.trim() }),
          ...(message.trim() && { message: message.trim() }),
        })
      }
    >
      <TextField
        label={t('editor.note.tag')}
        description={t('editor.note.tagHelp')}
        value={tag}
        onChange={setTag}
        validationBehavior="aria"
        validate={() => tagError ?? null}
      />
      <TextAreaField
        label={t('editor.note.message')}
        description={t('editor.note.messageHelp')}
        value={message}
        onChange={setMessage}
        validationBehavior="aria"
        validate={() => messageError ?? null}
      />
    </ActionDialog>
  );
}
