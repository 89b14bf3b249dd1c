import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { NumberField, TextField } from '@backstage/ui';
import { ActionDialog, slugOf } from '@internal/pages';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { useProblems } from '../problems';

/** How many characters a slug has at most. */
const LONGEST_SLUG = 63;
const MOST = 2_147_483_647;

/** The limits that the backend gives a tenant for which none are named. */
const DEFAULT_LIMITS = { max_entities: 50_000, entity_ttl_days: 365 };

/** Asks what a new tenant is to be, and creates it. */
export function CreateTenantDialog(props: {
  onClose: () => void;
  onCreated: (slug: string) => void;
}) {
  const { onClose, onCreated } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [name, setName] = useState('');
  // Until it is typed, it follows the name.
  const [typedSlug, setTypedSlug] = useState<string>();
  const [limits, setLimits] = useState(DEFAULT_LIMITS);

  const slug = typedSlug ?? slugOf(name, LONGEST_SLUG);
  const { send, field } = useProblems(
    { tenant_name: name, tenant_slug: slug, ...limits },
    { conflict: 'tenant_slug' },
  );

  const create = (idempotencyKey: string) =>
    send(() =>
      tenantsApi.createTenant(
        {
          tenant_name: name,
          tenant_slug: slug,
          // An empty field is not a number: the backend's default holds.
          ...Object.fromEntries(
            Object.entries(limits).filter(([, limit]) =>
              Number.isFinite(limit),
            ),
          ),
        },
        { idempotencyKey },
      ),
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
      {(['max_entities', 'entity_ttl_days'] as const).map(limit => (
        <NumberField
          key={limit}
          label={t(`tenant.edit.${limit}.label`)}
          description={t(`list.create.${limit}`)}
          minValue={limit === 'max_entities' ? 0 : 1}
          maxValue={MOST}
          onChange={value => setLimits({ ...limits, [limit]: value })}
          {...field(limit)}
        />
      ))}
    </ActionDialog>
  );
}
