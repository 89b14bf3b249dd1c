import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import { ActionButton, Moment, TextLink, useLaterFocus } from '@internal/pages';
import { tenantsApiRef } from '../../api';
import { DEFAULT_TENANT_SLUG } from '../../openTenant/tenantAddress';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { Facts } from '../Facts';
import { Part } from '../Part';
import { State } from '../State';
import type { TenantState, VisibleTenant } from './useTenant';

/** What feeds the catalog of a tenant, how that goes, and what stops and starts it. */
export function EngineSection(props: {
  tenant: VisibleTenant;
  state: TenantState;
  isRefreshing: boolean;
  onRefresh: () => void;
  onDone: (notice: string) => void;
}) {
  const { tenant, state, isRefreshing, onRefresh, onDone } = props;
  const { status, at } = state;
  const { slug, name } = tenant;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const [heading, focusHeading] = useLaterFocus<HTMLHeadingElement>();
  const change = status.state === 'paused' ? 'resume' : 'pause';
  const changeButton = tenant.row && slug !== DEFAULT_TENANT_SLUG && (
    <ActionButton
      key={change}
      open={t(`tenant.${change}.open`)}
      title={t(`tenant.${change}.title`, { name })}
      texts={[t(`tenant.${change}.text`)]}
      submit={t(`tenant.${change}.submit`)}
      failed={t(`tenant.${change}.failed`)}
      onSubmit={async () => {
        await tenantsApi[`${change}Engine`](slug);
        onDone(t(`tenant.${change}.done`));
      }}
      onDone={focusHeading}
    />
  );

  return (
    <Part
      level={3}
      isBoxed
      ref={heading}
      title={t('tenant.engine.title')}
      actions={
        <>
          {changeButton}
          <Button
            variant="tertiary"
            isPending={isRefreshing}
            onPress={onRefresh}
          >
            {t('administration.refresh')}
          </Button>
        </>
      }
    >
      <State state={status.state} errors={status.source_error_count} />
      <Text>{t(`tenant.engine.words.${status.state}`)}</Text>
      <Facts
        facts={[
          [t('tenant.engine.reason'), status.reason],
          [
            t('tenant.engine.lag'),
            status.lag_seconds === 0
              ? t('tenant.engine.lagNone')
              : status.lag_seconds &&
                t('tenant.engine.lagSeconds', { count: status.lag_seconds }),
          ],
          [
            t('tenant.engine.pausedAt'),
            status.paused_at && <Moment at={status.paused_at} />,
          ],
          [t('tenant.engine.pausedBy'), status.paused_by],
          [
            t('tenant.engine.lastRun'),
            status.last_full_run_at && <Moment at={status.last_full_run_at} />,
          ],
          [
            t('tenant.engine.lastError'),
            status.last_error && (
              <>
                {status.last_error}
                {status.last_error_at && (
                  <>
                    {', '}
                    <Moment at={status.last_error_at} />
                  </>
                )}
              </>
            ),
          ],
          [
            t('tenant.engine.sourceErrors'),
            status.source_error_count ? (
              <TextLink href={`${href}/${slug}/sources`}>
                {status.source_error_count}
              </TextLink>
            ) : null,
          ],
          [t('tenant.engine.faults'), status.faults || null],
          [t('tenant.engine.process'), status.process],
          [t('tenant.engine.asOf'), <Moment key="at" at={at} />],
        ]}
      />
    </Part>
  );
}
