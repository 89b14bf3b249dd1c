import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { type Action, ActionDialog } from '@internal/pages';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { isWithin, LimitedField } from '../components/LimitedField';
import { mockupTranslationRef } from '../translation';

/** The bounds of the name of a mockup. */
export const NAME = { most: MOCKUP_LIMITS.name, isRequired: true };
const DESCRIPTION = { most: MOCKUP_LIMITS.description };

/** Asks for the name of a mockup, and for the description where one is given. */
export function DetailsDialog(
  props: Pick<Action, 'title' | 'submit' | 'failed' | 'onDone' | 'children'> & {
    text?: string;
    name: string;
    description?: string;
    onSubmit: (
      details: { name: string; description: string },
      idempotencyKey: string,
    ) => Promise<void>;
    onClose: () => void;
  },
) {
  const { text, onSubmit, children, ...dialog } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [name, setName] = useState(props.name);
  const [description, setDescription] = useState(props.description ?? '');
  const [isTried, setTried] = useState(false);
  return (
    <ActionDialog
      {...dialog}
      texts={text === undefined ? [] : [text]}
      onSubmit={async idempotencyKey => {
        setTried(true);
        if (!isWithin(name, NAME) || !isWithin(description, DESCRIPTION)) {
          return false;
        }
        await onSubmit({ name, description }, idempotencyKey);
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
      {props.description !== undefined && (
        <LimitedField
          {...DESCRIPTION}
          label={t('list.details.description')}
          description={t('list.details.descriptionHint')}
          isLong
          value={description}
          onChange={setDescription}
        />
      )}
      {children}
    </ActionDialog>
  );
}
