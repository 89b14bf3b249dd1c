import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Select } from '@backstage/ui';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';
import { DetailsDialog } from './DetailsDialog';
import { type TemplateName, TEMPLATES } from './templates';

const CHOICES = [
  'empty',
  ...(Object.keys(TEMPLATES) as TemplateName[]),
] as const;
/** What begins the key of a page that is a template: a path has no slash. */
const PAGE = 'page/';

/** Creates a mockup, empty or with the layout of a template as its first version. */
export function CreateDialog(props: {
  onCreated: (id: string) => void;
  onClose: () => void;
}) {
  const { onCreated, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const [choice, setChoice] = useState<string>('empty');
  const { value: pages = [] } = useAsync(() => api.listPages(), [api]);
  const choices = [
    ...CHOICES.map(id => ({ id, label: t(`list.template.${id}`) })),
    ...pages
      .filter(({ template }) => template)
      .map(({ path, title }) => ({ id: `${PAGE}${path}`, label: title })),
  ];
  const layoutOf = async (): Promise<LayoutItem[] | undefined> => {
    if (!choice.startsWith(PAGE)) {
      return choice === 'empty' ? undefined : TEMPLATES[choice as TemplateName];
    }
    const page = await api.getPage(choice.slice(PAGE.length));
    if (!page) {
      throw new Error(t('list.template.gone'));
    }
    return page.layoutData;
  };
  // Where the second request fails, it is tried again for the same mockup.
  const created = useRef<{ id: string; name: string }>();
  return (
    <DetailsDialog
      of="create"
      onClose={onClose}
      onSubmit={async ({ name, description }) => {
        const layoutData = await layoutOf();
        if (created.current?.name !== name) {
          const { mockup } = await api.createMockup({
            name,
            ...(description && { description }),
          });
          created.current = { id: mockup.id, name };
        }
        const { id } = created.current;
        if (layoutData) {
          await api.saveVersion(id, { layoutData });
        }
        onCreated(id);
      }}
    >
      <Select
        label={t('list.template.label')}
        options={choices}
        value={choice}
        onChange={next => setChoice(String(next))}
      />
    </DetailsDialog>
  );
}
