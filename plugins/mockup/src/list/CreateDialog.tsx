import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Select } from '@backstage/ui';
import { ReadFailure, useRead } from '@internal/pages';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';
import { DetailsDialog } from './DetailsDialog';
import { type TemplateName, TEMPLATES } from './templates';
import { useNewMockup } from './useNewMockup';

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
  const { create, idOf } = useNewMockup();
  const [choice, setChoice] = useState<string>('empty');
  const read = useRead(() => api.listPages(), [api]);
  const choices = [
    ...CHOICES.map(id => ({ id, label: t(`list.template.${id}`) })),
    ...(read.value ?? [])
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
  return (
    <DetailsDialog
      title={t('list.details.create.title')}
      submit={t('list.details.create.submit')}
      failed={t('list.details.create.failed')}
      name=""
      description=""
      onClose={onClose}
      onSubmit={async (details, key) => create(details, await layoutOf(), key)}
      onDone={() => onCreated(idOf())}
    >
      <Select
        label={t('list.template.label')}
        options={choices}
        value={choice}
        onChange={next => setChoice(String(next))}
      />
      <ReadFailure title={t('list.template.failed')} state={read} />
    </DetailsDialog>
  );
}
