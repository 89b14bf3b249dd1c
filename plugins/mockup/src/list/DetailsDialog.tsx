import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { TextAreaField, TextField } from '@backstage/ui';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { ActionDialog } from '../components/ActionDialog';
import { mockupTranslationRef } from '../translation';

/** Asks for the name and the description of a mockup. */
export function DetailsDialog(props: {
  of: 'create' | 'edit';
  name?: string;
  description?: string;
  onSubmit: (details: { name: string; description: string }) => Promise<void>;
  onClose: () => void;
}) {
  const { of, onSubmit, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [name, setName] = useState(props.name ?? '');
  const [description, setDescription] = useState(props.description ?? '');
  const [isTried, setTried] = useState(false);

  let nameProblem: string | null = null;
  if (!name.trim()) {
    nameProblem = isTried ? t('list.details.name.missing') : null;
  } else if (lengthOf(name) > MOCKUP_LIMITS.name) {
    nameProblem = t('list.details.name.long', {
      most: String(MOCKUP_LIMITS.name),
      length: String(lengthOf(name)),
    });
  }
  const descriptionProblem =
    lengthOf(description) > MOCKUP_LIMITS.description
      ? t('list.details.description.long', {
          most: String(MOCKUP_LIMITS.description),
          length: String(lengthOf(description)),
        })
      : null;

  return (
    <ActionDialog
      title={t(`list.details.${of}.title`)}
      texts={[]}
      submit={t(`list.details.${of}.submit`)}
      failed={t(`list.details.${of}.failed`)}
      onClose={onClose}
      onSubmit={async () => {
        setTried(true);
        if (!name.trim() || nameProblem || descriptionProblem) {
          return false;
        }
        await onSubmit({ name, description });
        return true;
      }}
    >
      <TextField
        label={t('list.details.name.label')}
        isRequired
        value={name}
        onChange={setName}
        validationBehavior="aria"
        validate={() => nameProblem}
      />
      <TextAreaField
        label={t('list.details.description.label')}
        description={t('list.details.description.hint')}
        value={description}
        onChange={setDescription}
        validationBehavior="aria"
        validate={() => descriptionProblem}
      />
    </ActionDialog>
  );
}

/** In code points, as the backend counts. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
