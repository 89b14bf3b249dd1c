import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { ButtonIcon } from '@backstage/ui';
import { RiDeleteBinLine } from '@remixicon/react';
import {
  ActionDialog,
  Alert,
  EmptyState,
  ifThere,
  Loading,
  ReadFailure,
  statusOf,
  useFailureText,
  useLaterFocus,
  useRead,
} from '@internal/pages';
import type { SourceError } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import useInterval from 'react-use/esm/useInterval';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { SourceErrors } from './SourceErrors';
import styles from './sources.module.css';
import {
  OtherTenantsHostname,
  type RegisteredLocation,
  useCatalogOf,
} from './useCatalogOf';

/** How soon the page asks again while the engine can't answer. */
const RETRY_MS = 5_000;

/** Loads the locations that members of a tenant have registered with its catalog. */
export function useRegistered(slug: string, isAvailable: boolean) {
  const catalog = useCatalogOf(slug);
  const state = useRead(
    async () => (isAvailable ? catalog.list() : []),
    [slug, isAvailable],
  );
  const { error, loading, retry } = state;
  // The engine of a new tenant has to create its tables before it answers, and every engine
  // starts again after a change of its configuration.
  const isEngineAway = statusOf(error) === 503;
  useInterval(
    () => {
      if (!loading && document.visibilityState !== 'hidden') {
        retry();
      }
    },
    isEngineAway ? RETRY_MS : null,
  );
  return { ...state, isEngineAway };
}

/** The locations that members of the tenant have registered with its catalog. */
export function RegisteredLocations(props: {
  slug: string;
  registered: ReturnType<typeof useRegistered>;
  errors: SourceError[];
}) {
  const { slug, registered, errors } = props;
  const { value, error, loading, retry, isEngineAway } = registered;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const catalog = useCatalogOf(slug);
  const textOf = useFailureText();
  const [removing, setRemoving] = useState<RegisteredLocation>();
  const [announcement, setAnnouncement] = useState('');
  const [heading, focusHeading] = useLaterFocus<HTMLHeadingElement>();

  return (
    <>
      <Part
        ref={heading}
        title={t('sources.registered.title')}
        explanation={t('sources.registered.explanation')}
        level={3}
        isBoxed
        said={announcement}
      >
        {loading && !value && !error && (
          <Loading label={t('sources.registered.loading')} height={60} />
        )}
        {error && renderFailure(error)}
        {!error && value?.length === 0 && (
          <EmptyState text={t('sources.registered.none')} />
        )}
        {value && value.length > 0 && (
          <ul className={styles.list}>
            {value.map(location => (
              <li key={location.id}>
                <div className={styles.target}>
                  {location.target}
                  <SourceErrors
                    slug={slug}
                    errors={errors.filter(
                      each => each.location === location.target,
                    )}
                  />
                </div>
                <ButtonIcon
                  variant="tertiary"
                  icon={<RiDeleteBinLine />}
                  aria-label={t('sources.registered.remove', location)}
                  onPress={() => setRemoving(location)}
                />
              </li>
            ))}
          </ul>
        )}
      </Part>
      {removing && (
        <ActionDialog
          title={t('sources.registered.question')}
          texts={[t('sources.registered.meaning', removing)]}
          destructive
          submit={t('sources.registered.confirm')}
          failed={t('sources.registered.notRemoved')}
          onSubmit={async () => {
            await ifThere(catalog.remove(removing.id));
            setAnnouncement(t('sources.registered.removed', removing));
            retry();
          }}
          // The button that asked for it goes with its row.
          onDone={focusHeading}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </>
  );

  function renderFailure(failure: Error) {
    if (failure instanceof OtherTenantsHostname) {
      return (
        <Alert
          status="info"
          icon
          description={t('sources.registered.elsewhere', {
            slug,
            url: failure.portal,
          })}
        />
      );
    }
    if (statusOf(failure) === 403) {
      return (
        <Alert
          status="info"
          icon
          description={t('sources.registered.refused')}
        />
      );
    }
    if (isEngineAway) {
      return (
        <Alert
          role="status"
          status="info"
          icon
          title={t('sources.registered.engineAway')}
          description={textOf(failure)}
        />
      );
    }
    return (
      <ReadFailure title={t('sources.registered.failed')} state={registered} />
    );
  }
}
