import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Checkbox, TextAreaField, TextField } from '@backstage/ui';
import { ActionDialog } from '@internal/pages';
import { type Mockup, MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { type ReactNode, useState } from 'react';
import { mockupTranslationRef } from '../translation';

/** Asks for the name and the description of a mockup. */
export function DetailsDialog(props: {
  of: 'create' | 'edit';
  name?: string;
  description?: string;
  onSubmit: (details: { name: string; description: string }) => Promise<void>;
  onClose: () => void;
  /** More fields. */
  children?: ReactNode;
}) {
  const { of, onSubmit, onClose, children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [name, setName] = useState(props.name ?? '');
  const [description, setDescription] = useState(props.description ?? '');
  const [isTried, setTried] = useState(false);

  const nameProblem = useNameProblem(name, isTried);
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
      <NameField value={name} onChange={setName} problem={nameProblem} />
      <TextAreaField
        label={t('list.details.description.label')}
        description={t('list.details.description.hint')}
        value={description}
        onChange={setDescription}
        validationBehavior="aria"
        validate={() => descriptionProblem}
      />
      {children}
    </ActionDialog>
  );
}

/** Asks what the copy of a mockup is to be. */
export function DuplicateDialog(props: {
  mockup: Mockup;
  onSubmit: (request: { name: string; withHistory: boolean }) => Promise<void>;
  onClose: () => void;
}) {
  const { mockup, onSubmit, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [name, setName] = useState<string>(() =>
    t('list.duplicate.name', { name: mockup.name }),
  );
  const [withHistory, setWithHistory] = useState(false);
  const [isTried, setTried] = useState(false);
  const problem = useNameProblem(name, isTried);
  return (
    <ActionDialog
      title={t('list.duplicate.title', { name: mockup.name })}
      texts={[t('list.duplicate.text')]}
      submit={t('list.duplicate.submit')}
      failed={t('list.duplicate.failed')}
      onClose={onClose}
      onSubmit={async () => {
        setTried(true);
        if (!name.trim() || problem) {
          return false;
        }
        await onSubmit({ name, withHistory });
        return true;
      }}
    >
      <NameField value={name} onChange={setName} problem={problem} />
      <Checkbox isSelected={withHistory} onChange={setWithHistory}>
        {t('list.duplicate.withHistory')}
      </Checkbox>
    </ActionDialog>
  );
}

function NameField(props: {
  value: string;
  onChange: (name: string) => void;
  problem: string | null;
}) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <TextField
      label={t('list.details.name.label')}
      isRequired
      value={props.value}
      onChange={props.onChange}
      validationBehavior="aria"
      validate={() => props.problem}
    />
  );
}

/** What is wrong with a name. That it is missing is said once it was tried. */
function useNameProblem(name: string, isTried: boolean): string | null {
  const { t } = useTranslationRef(mockupTranslationRef);
  if (!name.trim()) {
    return isTried ? t('list.details.name.missing') : null;
  }
  const length = lengthOf(name);
  return length > MOCKUP_LIMITS.name
    ? t('list.details.name.long', {
        most: String(MOCKUP_LIMITS.name),
        length: String(length),
      })
    : null;
}

/** In code points, as the backend counts. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
