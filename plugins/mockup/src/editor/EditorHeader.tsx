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
import { type Dispatch, useState } from 'react';
import { versionsRouteRef } from '../routes';
import { ShareDialog } from '../sharing/ShareDialog';
import type { SharedChange } from '../sharing/useSharing';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Content, EditorAction } from './model/editorReducer';

/** The name of the mockup, and what is done with it as a whole. */
export function EditorHeader(props: {
  mockupId: string;
  content: Content;
  isReadOnly: boolean;
  dispatch: Dispatch<EditorAction>;
  onSave: (versionTag?: string) => void;
  onSaveCopy: () => void;
  onShared: (change: SharedChange) => void;
}) {
  const { mockupId, content, isReadOnly } = props;
  const { dispatch, onSave, onSaveCopy, onShared } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const versionsPath = useRouteRef(versionsRouteRef)?.({ id: mockupId });
  const [dialog, setDialog] = useState<'details' | 'tag' | 'share'>();
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
                    aria-label={t('editor.toolbar.saveTagged')}
                    onPress={() => setDialog('tag')}
                  />
                  <Tooltip>{t('editor.toolbar.saveTagged')}</Tooltip>
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
      {dialog === 'tag' && (
        <TagDialog onSave={onSave} onClose={() => setDialog(undefined)} />
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
  const nameError = problemOf(name, MOCKUP_LIMITS.name, name.trim() === '');
  const descriptionError = problemOf(description, MOCKUP_LIMITS.description);

  function problemOf(text: string, most: number, isMissing = false) {
    if (isMissing) {
      return t('editor.details.nameMissing');
    }
    return [...text].length > most
      ? t('editor.details.tooLong', { most: String(most) })
      : undefined;
  }
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

function TagDialog(props: {
  onSave: (versionTag?: string) => void;
  onClose: () => void;
}) {
  const { onSave, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [tag, setTag] = useState('');
  const most = MOCKUP_LIMITS.versionTag;
  const isTooLong = [...tag].length > most;
  const problem = isTooLong
    ? t('editor.details.tooLong', { most: String(most) })
    : null;
  return (
    <ActionDialog
      title={t('editor.tag.title')}
      texts={[]}
      submit={t('editor.toolbar.save')}
      failed=""
      onClose={onClose}
      onSubmit={async () => !isTooLong}
      onDone={() => onSave(tag.trim() || undefined)}
    >
      <TextField
        label={t('editor.tag.label')}
        description={t('editor.tag.help')}
        value={tag}
        onChange={setTag}
        validationBehavior="aria"
        validate={() => problem}
      />
    </ActionDialog>
  );
}
