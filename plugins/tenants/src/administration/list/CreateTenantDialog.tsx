import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { TextField } from '@backstage/ui';
import { ActionDialog, slugOf } from '@internal/pages';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { useProblems } from '../problems';

/** How many characters a slug has at most. */
const LONGEST_SLUG = 63;

/** Asks what a new tenant is to be, and creates it. */
export function CreateTenantDialog(props: {
  onClose: () => void;
  /** It may be there where only the answer was lost. */
  onTried: () => void;
  onCreated: (slug: string) => void;
}) {
  const { onClose, onTried, onCreated } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [name, setName] = useState('');
  // Until it is typed, it follows the name.
  const [typedSlug, setTypedSlug] = useState<string>();

  const slug = typedSlug ?? slugOf(name, LONGEST_SLUG);
  const values = { tenant_name: name, tenant_slug: slug };
  const { send, field } = useProblems(values, { conflict: 'tenant_slug' });

  const create = (idempotencyKey: string) =>
    send(() => tenantsApi.createTenant(values, { idempotencyKey })).finally(
      onTried,
    );

  return (
    <ActionDialog
      title={t('list.create.title')}
      texts={[]}
      submit={t('list.create.submit')}
      failed={t('list.create.failed')}
      onClose={onClose}
      onSubmit={create}
      onDone={() => onCreated(slug)}
    >
      <TextField
        label={t('list.create.name.label')}
        description={t('list.create.name.description')}
        isRequired
        onChange={setName}
        {...field('tenant_name')}
      />
      <TextField
        label={t('list.create.slug.label')}
        description={t('list.create.slug.description')}
        isRequired
        onChange={setTypedSlug}
        {...field('tenant_slug')}
      />
    </ActionDialog>
  );
}
