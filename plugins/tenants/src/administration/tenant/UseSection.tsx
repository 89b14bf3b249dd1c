import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { NumberField, Text, TextField } from '@backstage/ui';
import {
  ActionButton,
  Loaded,
  Moment,
  useNumber,
  useRead,
} from '@internal/pages';
import type {
  Tenant,
  TenantUsage,
  UpdateTenant,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Facts } from '../Facts';
import { Part } from '../Part';
import { useProblems } from '../problems';
import type { VisibleTenant } from './useTenant';

/** What a tenant holds, of what it may, and the dialog that changes that and its name. */
export function UseSection(props: {
  tenant: VisibleTenant;
  /** How often the page has looked what the engine has brought: this is read with it. */
  times: number;
  onSaved: () => void;
}) {
  const { times, onSaved } = props;
  const { slug, row } = props.tenant;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const read = useRead(
    () => tenantsApi.getTenantUsage(slug),
    [tenantsApi, slug, times],
  );
  const [said, setSaid] = useState('');
  const onEdited = () => {
    setSaid(t('tenant.edit.done'));
    onSaved();
  };
  return (
    <Part
      level={3}
      isBoxed
      title={t('tenant.use.title')}
      said={said}
      actions={row && <EditDialog row={row} onSaved={onEdited} />}
    >
      <Loaded state={read} failed={t('tenant.use.failed')} height={160}>
        {usage => <Use usage={usage} />}
      </Loaded>
    </Part>
  );
}

function Use({ usage }: { usage: TenantUsage }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const numberOf = useNumber();
  const { entity_ttl_days: days, max_entities: limit } = usage;
  const entities = numberOf(usage.live_entities);
  const kept =
    days === null
      ? t('tenant.use.keptForever')
      : t('tenant.use.keptFor', { count: days });
  function describeRate(): string {
    const { requests_per_second: rate, burst } = usage;
    if (rate === null) {
      return t('tenant.use.configured');
    }
    return burst === null
      ? numberOf(rate)
      : t('tenant.use.rateWithBurst', {
          rate: numberOf(rate),
          burst: numberOf(burst),
        });
  }
  return (
    <>
      <Facts
        facts={[
          [
            t('tenant.use.entities'),
            limit === null
              ? t('tenant.use.unlimited', { entities })
              : t('tenant.use.ofLimit', { entities, limit: numberOf(limit) }),
          ],
          [
            t('tenant.use.kept'),
            `${numberOf(usage.deleted_entities)}, ${kept}`,
          ],
          [t('tenant.use.relations'), numberOf(usage.relations)],
          [
            t('tenant.use.concurrency'),
            usage.concurrency === null
              ? t('tenant.use.configured')
              : numberOf(usage.concurrency),
          ],
          [t('tenant.use.rate'), describeRate()],
          [t('tenant.use.created'), <Moment key="at" at={usage.created_at} />],
        ]}
      />
      {limit !== null && usage.live_entities >= limit && (
        <Text color="danger">{t('tenant.use.full')}</Text>
      )}
    </>
  );
}

/** The limits in the order of the form, with what each is at least and at most. */
const LIMITS = {
  max_entities: [0, 2_147_483_647],
  entity_ttl_days: [1, 2_147_483_647],
  concurrency: [1, 10_000],
  requests_per_second: [1, 1_000_000],
  burst: [1, 1_000_000],
} as const;

type Limit = keyof typeof LIMITS;

const LIMIT_NAMES = Object.keys(LIMITS) as Limit[];

/** What the form shows of a tenant; an empty field is not a number. */
function toValues(row: Tenant) {
  const limits = LIMIT_NAMES.map(limit => [limit, row[limit] ?? NaN]);
  return {
    tenant_name: row.tenant_name,
    ...(Object.fromEntries(limits) as Record<Limit, number>),
  };
}

/** Asks for another name and other limits. What is typed stays when saving fails. */
function EditDialog(props: { row: Tenant; onSaved: () => void }) {
  const { row, onSaved } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const [values, setValues] = useState(() => toValues(row));
  const { send, field } = useProblems(values);

  const save = () =>
    send(async () => {
      const before = toValues(row);
      const changed = LIMIT_NAMES.filter(
        limit => !Object.is(values[limit], before[limit]),
      );
      // The registry takes a burst only with its rate.
      if (
        changed.includes('burst') ||
        changed.includes('requests_per_second')
      ) {
        changed.push('burst', 'requests_per_second');
      }
      const changes: UpdateTenant = {
        ...(values.tenant_name !== row.tenant_name && {
          tenant_name: values.tenant_name,
        }),
        // Where none is given, what is configured for all tenants holds.
        ...Object.fromEntries(
          changed.map(limit => [
            limit,
            Number.isFinite(values[limit]) ? values[limit] : null,
          ]),
        ),
      };
      if (Object.keys(changes).length > 0) {
        await tenantsApi.updateTenant(row.tenant_slug, changes);
      }
      onSaved();
    });

  return (
    <ActionButton
      open={t('tenant.use.edit')}
      title={t('tenant.edit.title')}
      texts={[]}
      submit={t('tenant.edit.submit')}
      failed={t('tenant.edit.failed')}
      onOpen={() => setValues(toValues(row))}
      onSubmit={save}
    >
      <TextField
        label={t('tenant.edit.name')}
        isRequired
        maxLength={255}
        onChange={name => setValues({ ...values, tenant_name: name })}
        {...field('tenant_name')}
      />
      {LIMIT_NAMES.map(limit => (
        <NumberField
          key={limit}
          label={t(`tenant.edit.${limit}.label`)}
          description={t(`tenant.edit.${limit}.description`)}
          minValue={LIMITS[limit][0]}
          maxValue={LIMITS[limit][1]}
          onChange={value => setValues({ ...values, [limit]: value })}
          {...field(limit)}
        />
      ))}
    </ActionButton>
  );
}
