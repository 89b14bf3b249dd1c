import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Checkbox } from '@backstage/ui';
import { ActionDialog } from '@internal/pages';
import { type Mockup, MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { type ReactNode, useState } from 'react';
import { isWithin, LimitedField } from '../components/LimitedField';
import { mockupTranslationRef } from '../translation';

/** The bounds of the name of a mockup. */
export const NAME = { most: MOCKUP_LIMITS.name, isRequired: true };
const DESCRIPTION = { most: MOCKUP_LIMITS.description };

/** Asks for the name and the description of a mockup. */
export function DetailsDialog(props: {
  of: 'create' | 'edit' | 'draft';
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
  return (
    <ActionDialog
      title={t(`list.details.${of}.title`)}
      texts={of === 'draft' ? [t('list.details.draft.text')] : []}
      submit={t(`list.details.${of}.submit`)}
      failed={t(`list.details.${of}.failed`)}
      onClose={onClose}
      onSubmit={async () => {
        setTried(true);
        if (!isWithin(name, NAME) || !isWithin(description, DESCRIPTION)) {
          return false;
        }
        await onSubmit({ name, description });
        return true;
      }}
    >
      <LimitedField
        {...NAME}
        label={t('list.details.name')}
        value={name}
        onChange={setName}
        isTried={isTried}
      />
      <LimitedField
        {...DESCRIPTION}
        label={t('list.details.description')}
        description={t('list.details.descriptionHint')}
        isLong
        value={description}
        onChange={setDescription}
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
  return (
    <ActionDialog
      title={t('list.duplicate.title', { name: mockup.name })}
      texts={[t('list.duplicate.text')]}
      submit={t('list.duplicate.submit')}
      failed={t('list.duplicate.failed')}
      onClose={onClose}
      onSubmit={async () => {
        setTried(true);
        if (!isWithin(name, NAME)) {
          return false;
        }
        await onSubmit({ name, withHistory });
        return true;
      }}
    >
      <LimitedField
        {...NAME}
        label={t('list.details.name')}
        value={name}
        onChange={setName}
        isTried={isTried}
      />
      <Checkbox isSelected={withHistory} onChange={setWithHistory}>
        {t('list.duplicate.withHistory')}
      </Checkbox>
    </ActionDialog>
  );
}
