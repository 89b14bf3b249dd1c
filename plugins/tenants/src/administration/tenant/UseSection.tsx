import {
  appLanguageApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Flex, NumberField, Text, TextField } from '@backstage/ui';
import { ActionButton, Moment } from '@internal/pages';
import type { Tenant, TenantUsage } from 'backstage-plugin-tenants-common';
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
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const numbers = new Intl.NumberFormat(language);
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
      ? numbers.format(rate)
      : t('tenant.use.rateWithBurst', {
          rate: numbers.format(rate),
          burst: numbers.format(burst),
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
            `${numbers.format(usage.deleted_entities)}, ${kept}`,
          ],
          [t('tenant.use.relations'), numbers.format(usage.relations)],
          [
            t('tenant.use.concurrency'),
            usage.concurrency === null
              ? t('tenant.use.configured')
              : numbers.format(usage.concurrency),
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
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const numbers = new Intl.NumberFormat(language);
  const id = useId();
  const entities = numbers.format(live);
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
    limit: numbers.format(limit),
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

/** Asks for another name and other limits. What is typed stays when saving fails. */
function EditDialog(props: { row: Tenant; onSaved: () => void }) {
  const { row, onSaved } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const [name, setName] = useState('');
  const [maxEntities, setMaxEntities] = useState(NaN);
  const [ttlDays, setTtlDays] = useState(NaN);
  const [concurrency, setConcurrency] = useState(NaN);
  const [rate, setRate] = useState(NaN);
  const [burst, setBurst] = useState(NaN);
  const [isTried, setTried] = useState(false);

  const hasName = name.trim() !== '';
  // What only SQL can set, no limit at all, stays as it is until there is a number.
  const isNumber = (value: number, before: number | null) =>
    before === null || Number.isFinite(value);
  const areNumbers =
    isNumber(maxEntities, row.max_entities) &&
    isNumber(ttlDays, row.entity_ttl_days);
  // An empty field is not a number: what is configured for all tenants holds.
  const own = {
    concurrency: orNull(concurrency),
    requests_per_second: orNull(rate),
    burst: orNull(burst),
  };
  const hasRateOfBurst = own.burst === null || own.requests_per_second !== null;
  const check = (isRight: boolean, problem: string) => ({
    validationBehavior: 'aria' as const,
    validate: () => (isTried && !isRight ? problem : null),
  });
  const checkNumber = (value: number, before: number | null) => ({
    ...check(isNumber(value, before), t('tenant.edit.number')),
    // For an empty number the check of the field itself is not asked.
    isInvalid: (isTried && !isNumber(value, before)) || undefined,
  });

  return (
    <ActionButton
      open={t('tenant.use.edit')}
      title={t('tenant.edit.title')}
      texts={[]}
      submit={t('tenant.edit.submit')}
      failed={t('tenant.edit.failed')}
      onOpen={() => {
        setName(row.tenant_name);
        setMaxEntities(row.max_entities ?? NaN);
        setTtlDays(row.entity_ttl_days ?? NaN);
        setConcurrency(row.concurrency ?? NaN);
        setRate(row.requests_per_second ?? NaN);
        setBurst(row.burst ?? NaN);
        setTried(false);
      }}
      onSubmit={async () => {
        setTried(true);
        if (!hasName || !areNumbers || !hasRateOfBurst) {
          return false;
        }
        const changes = {
          ...(name !== row.tenant_name && { tenant_name: name }),
          ...(Number.isFinite(maxEntities) &&
            maxEntities !== row.max_entities && { max_entities: maxEntities }),
          ...(Number.isFinite(ttlDays) &&
            ttlDays !== row.entity_ttl_days && { entity_ttl_days: ttlDays }),
          ...(own.concurrency !== row.concurrency && {
            concurrency: own.concurrency,
          }),
          // The registry takes a burst only with its rate.
          ...((own.requests_per_second !== row.requests_per_second ||
            own.burst !== row.burst) && {
            requests_per_second: own.requests_per_second,
            burst: own.burst,
          }),
        };
        if (Object.keys(changes).length > 0) {
          await tenantsApi.updateTenant(row.tenant_slug, changes);
        }
        return true;
      }}
      onDone={onSaved}
    >
      <TextField
        label={t('tenant.edit.name')}
        isRequired
        maxLength={255}
        value={name}
        onChange={setName}
        {...check(hasName, t('tenant.edit.nameMissing'))}
      />
      <NumberField
        label={t('tenant.edit.maxEntities')}
        description={t('tenant.edit.maxEntitiesDescription')}
        minValue={0}
        maxValue={2_147_483_647}
        value={maxEntities}
        onChange={setMaxEntities}
        {...checkNumber(maxEntities, row.max_entities)}
      />
      <NumberField
        label={t('tenant.edit.ttlDays')}
        description={t('tenant.edit.ttlDaysDescription')}
        minValue={1}
        maxValue={2_147_483_647}
        value={ttlDays}
        onChange={setTtlDays}
        {...checkNumber(ttlDays, row.entity_ttl_days)}
      />
      <NumberField
        label={t('tenant.edit.concurrency')}
        description={t('tenant.edit.concurrencyDescription')}
        minValue={1}
        maxValue={10_000}
        value={concurrency}
        onChange={setConcurrency}
      />
      <NumberField
        label={t('tenant.edit.rate')}
        description={t('tenant.edit.rateDescription')}
        minValue={1}
        maxValue={1_000_000}
        value={rate}
        onChange={setRate}
      />
      <NumberField
        label={t('tenant.edit.burst')}
        description={t('tenant.edit.burstDescription')}
        minValue={1}
        maxValue={1_000_000}
        value={burst}
        onChange={setBurst}
        {...check(hasRateOfBurst, t('tenant.edit.burstAlone'))}
      />
    </ActionButton>
  );
}

/** What an empty field stands for. */
function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
