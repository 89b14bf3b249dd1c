import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Select } from '@backstage/ui';
import { useRef, useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';
import { DetailsDialog } from './DetailsDialog';
import { type TemplateName, TEMPLATES } from './templates';

const CHOICES = [
  'empty',
  ...(Object.keys(TEMPLATES) as TemplateName[]),
] as const;
type Choice = (typeof CHOICES)[number];

/** Creates a mockup, empty or with the layout of a template as its first version. */
export function CreateDialog(props: {
  onCreated: (id: string) => void;
  onClose: () => void;
}) {
  const { onCreated, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const [choice, setChoice] = useState<Choice>('empty');
  // Where the second request fails, it is tried again for the same mockup.
  const created = useRef<{ id: string; name: string }>();
  return (
    <DetailsDialog
      of="create"
      onClose={onClose}
      onSubmit={async ({ name, description }) => {
        if (created.current?.name !== name) {
          const { mockup } = await api.createMockup({
            name,
            ...(description && { description }),
          });
          created.current = { id: mockup.id, name };
        }
        const { id } = created.current;
        if (choice !== 'empty') {
          await api.saveVersion(id, { layoutData: TEMPLATES[choice] });
        }
        onCreated(id);
      }}
    >
      <Select
        label={t('list.template.label')}
        options={CHOICES.map(id => ({ id, label: t(`list.template.${id}`) }))}
        value={choice}
        onChange={next => setChoice(next as Choice)}
      />
    </DetailsDialog>
  );
}
