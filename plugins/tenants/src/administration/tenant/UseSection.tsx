import {
  appLanguageApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Flex, NumberField, Text, TextField } from '@backstage/ui';
import type { Tenant, TenantUsage } from 'backstage-plugin-tenants-common';
import { useId, useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Moment } from '../Moment';
import { ActionButton } from '../ActionDialog';
import { Facts, Section } from './Section';

/** What a tenant holds, of what it may, and the dialog that changes that and its name. */
export function UseSection(props: {
  row: Tenant;
  usage: TenantUsage;
  onSaved: () => void;
}) {
  const { row, usage, onSaved } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const numbers = new Intl.NumberFormat(language);
  const { entity_ttl_days: days } = row;
  const kept =
    days === null
      ? t('tenant.use.keptForever')
      : t('tenant.use.keptFor', { count: days });
  return (
    <Section
      title={t('tenant.use.title')}
      actions={<EditDialog row={row} onSaved={onSaved} />}
    >
      <Meter live={usage.live_entities} limit={row.max_entities} />
      <Facts
        facts={[
          [
            t('tenant.use.kept'),
            `${numbers.format(usage.deleted_entities)}, ${kept}`,
          ],
          [t('tenant.use.relations'), numbers.format(usage.relations)],
          [t('tenant.use.created'), <Moment key="at" at={row.created_at} />],
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
  const [isTried, setTried] = useState(false);

  const hasName = name.trim() !== '';
  // What only SQL can set, no limit at all, stays as it is until there is a number.
  const isNumber = (value: number, before: number | null) =>
    before === null || Number.isFinite(value);
  const areNumbers =
    isNumber(maxEntities, row.max_entities) &&
    isNumber(ttlDays, row.entity_ttl_days);
  const check = (isRight: boolean, problem: string) => ({
    validationBehavior: 'aria' as const,
    // For an empty number the check of the field itself is not asked.
    isInvalid: isTried && !isRight,
    validate: () => (isTried && !isRight ? problem : null),
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
        setTried(false);
      }}
      onSubmit={async () => {
        setTried(true);
        if (!hasName || !areNumbers) {
          return false;
        }
        const changes = {
          ...(name !== row.tenant_name && { tenant_name: name }),
          ...(Number.isFinite(maxEntities) &&
            maxEntities !== row.max_entities && { max_entities: maxEntities }),
          ...(Number.isFinite(ttlDays) &&
            ttlDays !== row.entity_ttl_days && { entity_ttl_days: ttlDays }),
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
        {...check(
          isNumber(maxEntities, row.max_entities),
          t('tenant.edit.number'),
        )}
      />
      <NumberField
        label={t('tenant.edit.ttlDays')}
        description={t('tenant.edit.ttlDaysDescription')}
        minValue={1}
        maxValue={2_147_483_647}
        value={ttlDays}
        onChange={setTtlDays}
        {...check(
          isNumber(ttlDays, row.entity_ttl_days),
          t('tenant.edit.number'),
        )}
      />
    </ActionButton>
  );
}
