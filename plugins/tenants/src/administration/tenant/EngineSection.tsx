import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Link, Text } from '@backstage/ui';
import { ActionButton, Moment } from '@internal/pages';
import { tenantsApiRef } from '../../api';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { State } from '../State';
import { Facts, Section, useFocusableHeading } from './Section';
import {
  DEFAULT_TENANT_SLUG,
  type TenantState,
  type VisibleTenant,
} from './useTenant';

/** What feeds the catalog of a tenant, how that goes, and what stops and starts it. */
export function EngineSection(props: {
  tenant: VisibleTenant;
  state: TenantState;
  onRefresh: () => void;
  onDone: (notice: string) => void;
}) {
  const { tenant, state, onRefresh, onDone } = props;
  const { status, at } = state;
  const { slug, name } = tenant;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const [heading, focusHeading] = useFocusableHeading();
  const done = (notice: string) => () => {
    onDone(notice);
    focusHeading();
  };
  const hasEngine = !['code', 'catalog_plugin'].includes(status.state);
  const typed = (label: string) => ({ label, value: slug });

  const switches = tenant.row && slug !== DEFAULT_TENANT_SLUG && (
    <>
      {hasEngine && status.state !== 'paused' && (
        <ActionButton
          open={t('tenant.pause.open')}
          title={t('tenant.pause.title', { name })}
          texts={[t('tenant.pause.text')]}
          submit={t('tenant.pause.submit')}
          failed={t('tenant.pause.failed')}
          onSubmit={async () => {
            await tenantsApi.pauseEngine(slug);
          }}
          onDone={done(t('tenant.pause.done'))}
        />
      )}
      {status.state === 'paused' && (
        <ActionButton
          open={t('tenant.resume.open')}
          title={t('tenant.resume.title', { name })}
          texts={[t('tenant.resume.text')]}
          submit={t('tenant.resume.submit')}
          failed={t('tenant.resume.failed')}
          onSubmit={() => tenantsApi.resumeEngine(slug)}
          onDone={done(t('tenant.resume.done'))}
        />
      )}
      {hasEngine ? (
        <ActionButton
          open={t('tenant.disable.open')}
          title={t('tenant.disable.title', { name })}
          texts={[t('tenant.disable.text')]}
          typed={typed(t('tenant.disable.typed', { value: slug }))}
          submit={t('tenant.disable.submit')}
          destructive
          failed={t('tenant.disable.failed')}
          onSubmit={() => tenantsApi.disableEngine(slug)}
          onDone={done(t('tenant.disable.done'))}
        />
      ) : (
        <EnableDialog
          slug={slug}
          name={name}
          entities={status.entities}
          onDone={done(t('tenant.enable.done'))}
        />
      )}
    </>
  );

  return (
    <Section
      ref={heading}
      title={t('tenant.engine.title')}
      actions={
        <>
          {switches}
          <Button variant="tertiary" onPress={onRefresh}>
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
              <Link href={`${href}/${slug}/sources`}>
                {status.source_error_count}
              </Link>
            ) : null,
          ],
          [t('tenant.engine.faults'), status.faults || null],
          [t('tenant.engine.process'), status.process],
          [t('tenant.engine.asOf'), <Moment key="at" at={at} />],
        ]}
      />
    </Section>
  );
}

/** An engine starts empty: what code has written goes for good. */
function EnableDialog(props: {
  slug: string;
  name: string;
  entities: number;
  onDone: () => void;
}) {
  const { slug, name, entities, onDone } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const replace = entities > 0;
  return (
    <ActionButton
      open={t('tenant.enable.open')}
      title={t('tenant.enable.title', { name })}
      texts={[
        t('tenant.enable.text'),
        ...(replace ? [t('tenant.enable.replace', { count: entities })] : []),
      ]}
      typed={
        replace
          ? { label: t('tenant.enable.typed', { value: slug }), value: slug }
          : undefined
      }
      submit={t(
        replace ? 'tenant.enable.submitReplace' : 'tenant.enable.submit',
      )}
      destructive={replace}
      failed={t('tenant.enable.failed')}
      onSubmit={async () => {
        await tenantsApi.enableEngine(slug, replace ? { replace } : {});
      }}
      onDone={onDone}
    />
  );
}
