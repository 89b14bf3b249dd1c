import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useNavigate } from 'react-router-dom';
import { DetailsDialog } from '../../list/DetailsDialog';
import { useNewMockup } from '../../list/useNewMockup';
import { usePaths } from '../../routes';
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
  const navigate = useNavigate();
  const paths = usePaths();
  const { create, idOf } = useNewMockup();
  return (
    <DetailsDialog
      title={t('editor.copy.title')}
      text={t('editor.copy.text')}
      submit={t('editor.copy.submit')}
      failed={t('editor.copy.failed')}
      name={[...t('editor.copy.suggested', { name: content.name })]
        .slice(0, MOCKUP_LIMITS.name)
        .join('')}
      description={content.description}
      onClose={onClose}
      onSubmit={(details, key) => create(details, content.items, key)}
      onDone={() => {
        onSaved();
        navigate(paths.mockup(idOf()));
      }}
    />
  );
}
