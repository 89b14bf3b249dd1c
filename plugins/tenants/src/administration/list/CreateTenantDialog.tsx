import { toError } from '@backstage/errors';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { NumberField, TextField } from '@backstage/ui';
import { ActionDialog, slugOf } from '@internal/pages';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import {
  DEFAULT_LIMITS,
  type Field,
  findProblems,
  LONGEST_SLUG,
  readProblems,
} from './newTenant';

const MOST = 2_147_483_647;

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
  const [isTried, setTried] = useState(false);
  const [refused, setRefused] = useState<Partial<Record<Field, string>>>({});

  const slug = typedSlug ?? slugOf(name, LONGEST_SLUG);
  const found = findProblems({ tenant_name: name, tenant_slug: slug });
  const problems: Partial<Record<Field, string>> = { ...refused };
  if (isTried && found.tenant_name) {
    problems.tenant_name = t(`list.create.name.${found.tenant_name}`);
  }
  if (isTried && found.tenant_slug) {
    problems.tenant_slug = t(`list.create.slug.${found.tenant_slug}`, { slug });
  }

  async function create() {
    setTried(true);
    if (Object.keys(found).length > 0) {
      return false;
    }
    setRefused({});
    try {
      await tenantsApi.createTenant({
        tenant_name: name,
        tenant_slug: slug,
        // An empty field is not a number: the backend's default holds.
        ...Object.fromEntries(
          Object.entries(limits).filter(([, limit]) => Number.isFinite(limit)),
        ),
      });
    } catch (thrown) {
      const error = toError(thrown);
      const named = readProblems(error);
      if (Object.keys(named).length === 0) {
        throw error;
      }
      setRefused(named);
      return false;
    }
    return true;
  }

  /** A field whose error is shown until it is changed. */
  const field = <T,>(of: Field, onChange: (value: T) => void) => ({
    validationBehavior: 'aria' as const,
    validate: () => problems[of] ?? null,
    onChange: (value: T) => {
      onChange(value);
      setRefused(({ [of]: _, ...others }) => others);
    },
  });
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
        value={name}
        {...field('tenant_name', (value: string) => {
          setName(value);
          // It may have made the slug.
          setRefused(({ tenant_slug: _, ...others }) => others);
        })}
      />
      <TextField
        label={t('list.create.slug.label')}
        description={t('list.create.slug.description')}
        isRequired
        value={slug}
        {...field('tenant_slug', setTypedSlug)}
      />
      {(['max_entities', 'entity_ttl_days'] as const).map(limit => (
        <NumberField
          key={limit}
          label={t(`tenant.edit.${limit}.label`)}
          description={t(`list.create.${limit}`)}
          minValue={limit === 'max_entities' ? 0 : 1}
          maxValue={MOST}
          value={limits[limit]}
          {...field(limit, (value: number) =>
            setLimits({ ...limits, [limit]: value }),
          )}
        />
      ))}
    </ActionDialog>
  );
}
