import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { ActionDialog } from '@internal/pages';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { mockupApiRef } from '../../api';
import { isWithin, LimitedField } from '../../components/LimitedField';
import { NAME } from '../../list/DetailsDialog';
import { mockupRouteRef } from '../../routes';
import { mockupTranslationRef } from '../../translation';
import type { Content } from '../model/editorReducer';

/** Saves what is seen as another mockup, and opens that. */
export function CopyDialog(props: {
  content: Content;
  /** After it is saved, and before the other mockup is opened. */
  onSaved: () => void;
  onClose: () => void;
}) {
  const { content, onSaved, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const navigate = useNavigate();
  const pathOf = useRouteRef(mockupRouteRef);
  const [name, setName] = useState(
    [...t('editor.copy.suggested', { name: content.name })]
      .slice(0, MOCKUP_LIMITS.name)
      .join(''),
  );
  // Where the second request fails, it is tried again for the same mockup.
  const created = useRef<{ id: string; name: string }>();

  const submit = async () => {
    if (!isWithin(name, NAME)) {
      return false;
    }
    if (!created.current) {
      const { mockup } = await api.createMockup({
        name,
        ...(content.description && { description: content.description }),
      });
      created.current = { id: mockup.id, name };
    }
    const { id } = created.current;
    if (created.current.name !== name) {
      await api.updateMockup(id, { name });
      created.current = { id, name };
    }
    await api.saveVersion(id, {
      layoutData: [...content.items],
    });
    return true;
  };
  return (
    <ActionDialog
      title={t('editor.copy.title')}
      texts={[t('editor.copy.text')]}
      submit={t('editor.copy.submit')}
      failed={t('editor.copy.failed')}
      onClose={onClose}
      onSubmit={submit}
      onDone={() => {
        onSaved();
        if (created.current && pathOf) {
          navigate(pathOf({ id: created.current.id }));
        }
      }}
    >
      <LimitedField
        {...NAME}
        label={t('editor.copy.name')}
        value={name}
        onChange={setName}
        isTried
      />
    </ActionDialog>
  );
}
