import {
  appLanguageApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Select } from '@backstage/ui';
import { EmptyState, Loaded, useDay, useRead } from '@internal/pages';
import type { TenantUsageDay } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { PlainTable } from '../PlainTable';
import styles from './usage.module.css';

const MEASURES = {
  requests: day => day.requests,
  people: day => day.people,
  seconds: day => day.database_ms / 1_000,
  entities: day =>
    Object.values(day.entities).reduce((sum, count) => sum + count, 0),
  megabytes: day => day.bytes / 1_000_000,
} satisfies Record<string, (day: TenantUsageDay) => number>;

type Measure = keyof typeof MEASURES;

/** What a tenant has used on each of the last days. */
export function UsageSection({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [measure, setMeasure] = useState<Measure>('requests');
  const usage = useRead(() => tenantsApi.listUsage(slug), [tenantsApi, slug]);
  return (
    <Part level={3} isBoxed title={t('tenant.usage.title')}>
      <Loaded state={usage} failed={t('tenant.usage.failed')} height={160}>
        {days => (
          <>
            {days.length > 0 && (
              <Select
                label={t('tenant.usage.measure')}
                options={Object.keys(MEASURES).map(id => ({
                  id,
                  label: t(`tenant.usage.measures.${id as Measure}`),
                }))}
                value={measure}
                onChange={next => setMeasure(next as Measure)}
                style={{ maxWidth: 320 }}
              />
            )}
            {days.some(MEASURES[measure]) ? (
              <Bars
                days={withGaps(days)}
                of={MEASURES[measure]}
                label={t(`tenant.usage.measures.${measure}`)}
              />
            ) : (
              <EmptyState text={t('tenant.usage.none')} />
            )}
          </>
        )}
      </Loaded>
    </Part>
  );
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/** The last days, also those on which nothing was used. */
function withGaps(days: TenantUsageDay[]): TenantUsageDay[] {
  const last = Date.parse(days[days.length - 1].day);
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(last - (DAYS - 1 - index) * DAY_MS)
      .toISOString()
      .slice(0, 10);
    const nothing = {
      ...{ day, requests: 0, database_ms: 0, people: 0 },
      ...{ entities: {}, bytes: 0 },
    };
    return days.find(each => each.day === day) ?? nothing;
  });
}

const HEIGHT = 120;
const BAR = 10;

function Bars(props: {
  days: TenantUsageDay[];
  of: (day: TenantUsageDay) => number;
  label: string;
}) {
  const { days, of, label } = props;
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const { t } = useTranslationRef(tenantsTranslationRef);
  const numbers = new Intl.NumberFormat(language, {
    maximumFractionDigits: 1,
  });
  const dayOf = useDay();
  const most = Math.max(...days.map(of));
  const heightOf = (day: TenantUsageDay) => (of(day) / most) * HEIGHT;
  return (
    <div>
      <svg
        className={styles.chart}
        role="img"
        aria-label={t('tenant.usage.chart', {
          measure: label,
          most: numbers.format(most),
        })}
        viewBox={`0 0 ${days.length * BAR} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {days.map((day, index) => (
          <rect
            key={day.day}
            x={index * BAR + 1}
            width={BAR - 2}
            y={HEIGHT - heightOf(day)}
            height={heightOf(day)}
          >
            <title>{`${dayOf(day.day)}: ${numbers.format(of(day))}`}</title>
          </rect>
        ))}
      </svg>
      <details className={styles.table}>
        <summary>{t('tenant.usage.table')}</summary>
        <PlainTable columns={[t('tenant.usage.day'), label]}>
          {days.map(day => (
            <tr key={day.day}>
              <th scope="row">{dayOf(day.day)}</th>
              <td>{numbers.format(of(day))}</td>
            </tr>
          ))}
        </PlainTable>
      </details>
    </div>
  );
}
