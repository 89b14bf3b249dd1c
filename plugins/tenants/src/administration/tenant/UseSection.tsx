import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Flex, NumberField, Text, TextField } from '@backstage/ui';
import { ActionButton, Moment, useNumber } from '@internal/pages';
import type {
  Tenant,
  TenantUsage,
  UpdateTenant,
} from 'backstage-plugin-tenants-common';
import { useId, useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Facts, Section } from './Section';

/** What a tenant holds, of what it may, and the dialog that changes that and its name. */
export function UseSection(props: {
  usage: TenantUsage;
  /** Its row of the registry, for those who may change it. */
  row?: Tenant;
  onSaved: () => void;
}) {
  const { row, usage, onSaved } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const numberOf = useNumber();
  const { entity_ttl_days: days } = usage;
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
    <Section
      title={t('tenant.use.title')}
      actions={row && <EditDialog row={row} onSaved={onSaved} />}
    >
      <Meter live={usage.live_entities} limit={usage.max_entities} />
      <Facts
        facts={[
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
    </Section>
  );
}

/** How far the limit of entities is used up. */
function Meter({ live, limit }: { live: number; limit: number | null }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const numberOf = useNumber();
  const id = useId();
  const entities = numberOf(live);
  const label = (
    <Text id={id} variant="body-small" weight="bold">
      {t('tenant.use.entities')}
    </Text>
  );
  if (limit === null) {
    return (
      <Flex direction="column" gap="1">
        {label}
        <Text>{t('tenant.use.unlimited', { entities })}</Text>
      </Flex>
    );
  }
  const share = limit === 0 ? 1 : Math.min(1, live / limit);
  const isFull = live >= limit;
  const text = t('tenant.use.ofLimit', {
    entities,
    limit: numberOf(limit),
  });
  return (
    <Flex direction="column" gap="1">
      {label}
      <Text>{text}</Text>
      <div
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={Math.max(limit, live)}
        aria-valuenow={live}
        aria-valuetext={text}
        style={{
          height: 8,
          borderRadius: 4,
          border: '1px solid var(--bui-border-2)',
          overflow: 'hidden',
        }}
      >
        <div
          style={{
            width: `${share * 100}%`,
            height: '100%',
            background: isFull
              ? 'var(--bui-fg-negative)'
              : 'var(--bui-accent-bg)',
          }}
        />
      </div>
      {isFull && <Text color="danger">{t('tenant.use.full')}</Text>}
    </Flex>
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

/** Asks for another name and other limits. What is typed stays when saving fails. */
function EditDialog(props: { row: Tenant; onSaved: () => void }) {
  const { row, onSaved } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const [name, setName] = useState('');
  const [limits, setLimits] = useState<Pick<Tenant, Limit>>(row);
  const [isTried, setTried] = useState(false);

  // What only SQL can set, no limit at all, stays as it is until there is a number.
  const isEmptyNumber = (field: Limit | 'name') =>
    (field === 'max_entities' || field === 'entity_ttl_days') &&
    limits[field] === null &&
    row[field] !== null;
  const problems: Partial<Record<Limit | 'name', string>> = {
    ...(!name.trim() && { name: t('tenant.edit.nameMissing') }),
    ...(limits.burst !== null &&
      limits.requests_per_second === null && {
        burst: t('tenant.edit.burstAlone'),
      }),
  };
  const check = (field: Limit | 'name') => ({
    validationBehavior: 'aria' as const,
    validate: () => (isTried && problems[field]) || null,
    // For an empty number the check of the field itself is not asked.
    isInvalid: (isTried && isEmptyNumber(field)) || undefined,
  });

  async function save() {
    setTried(true);
    if (Object.keys(problems).length > 0 || LIMIT_NAMES.some(isEmptyNumber)) {
      return false;
    }
    const changed = LIMIT_NAMES.filter(limit => limits[limit] !== row[limit]);
    const changes: UpdateTenant = {
      ...(name !== row.tenant_name && { tenant_name: name }),
      ...Object.fromEntries(changed.map(limit => [limit, limits[limit]])),
      // The registry takes a burst only with its rate.
      ...(changed.includes('burst') && {
        requests_per_second: limits.requests_per_second,
      }),
      ...(changed.includes('requests_per_second') && { burst: limits.burst }),
    };
    if (Object.keys(changes).length > 0) {
      await tenantsApi.updateTenant(row.tenant_slug, changes);
    }
    return true;
  }

  return (
    <ActionButton
      open={t('tenant.use.edit')}
      title={t('tenant.edit.title')}
      texts={[]}
      submit={t('tenant.edit.submit')}
      failed={t('tenant.edit.failed')}
      onOpen={() => {
        setName(row.tenant_name);
        setLimits(row);
        setTried(false);
      }}
      onSubmit={save}
      onDone={onSaved}
    >
      <TextField
        label={t('tenant.edit.name')}
        isRequired
        maxLength={255}
        value={name}
        onChange={setName}
        {...check('name')}
      />
      {LIMIT_NAMES.map(limit => (
        <NumberField
          key={limit}
          label={t(`tenant.edit.${limit}.label`)}
          description={
            isTried && isEmptyNumber(limit)
              ? t('tenant.edit.number')
              : t(`tenant.edit.${limit}.description`)
          }
          minValue={LIMITS[limit][0]}
          maxValue={LIMITS[limit][1]}
          value={limits[limit] ?? NaN}
          // An empty field is not a number: what is configured for all tenants holds.
          onChange={value =>
            setLimits({
              ...limits,
              [limit]: Number.isFinite(value) ? value : null,
            })
          }
          {...check(limit)}
        />
      ))}
    </ActionButton>
  );
}
