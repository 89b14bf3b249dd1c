import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { RiDeleteBinLine } from '@remixicon/react';
import {
  ActionButton,
  Alert,
  EmptyState,
  ifThere,
  Loading,
  ReadFailure,
  statusOf,
  useFailureText,
} from '@internal/pages';
import type { SourceError } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { usePolled } from '../tenant/usePolled';
import { SourceErrors } from './SourceErrors';
import styles from './sources.module.css';
import { OtherTenantsHostname, useCatalogOf } from './useCatalogOf';

/**
 * The engine of a new tenant has to create its tables before it answers, and every engine starts
 * again after a change of its configuration.
 */
const isEngineAway = (error: unknown) => statusOf(error) === 503;

/** Loads the locations that members of a tenant have registered with its catalog. */
export function useRegistered(slug: string) {
  const catalog = useCatalogOf(slug);
  return usePolled(
    () => catalog.list(),
    [slug],
    (_, error) => isEngineAway(error),
  );
}

/** The locations that members of the tenant have registered with its catalog. */
export function RegisteredLocations(props: {
  slug: string;
  registered: ReturnType<typeof useRegistered>;
  errors: SourceError[];
}) {
  const { slug, registered, errors } = props;
  const { value, error, loading, retry } = registered;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const catalog = useCatalogOf(slug);
  const textOf = useFailureText();
  const [announcement, setAnnouncement] = useState('');

  return (
    <Part
      title={t('sources.registered.title')}
      explanation={t('sources.registered.explanation')}
      level={3}
      isBoxed
      said={announcement}
    >
      {loading && !value && !error && <Loading height={60} />}
      {error && renderFailure(error)}
      {!error && value?.length === 0 && (
        <EmptyState text={t('sources.registered.none')} />
      )}
      {!error && value && value.length > 0 && (
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
              <ActionButton
                icon={<RiDeleteBinLine />}
                open={t('sources.registered.remove', location)}
                title={t('sources.registered.question')}
                texts={[t('sources.registered.meaning', location)]}
                destructive
                submit={t('sources.registered.confirm')}
                failed={t('sources.registered.notRemoved')}
                onSubmit={async () => {
                  await ifThere(catalog.remove(location.id));
                  setAnnouncement(t('sources.registered.removed', location));
                  retry();
                }}
              />
            </li>
          ))}
        </ul>
      )}
    </Part>
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
    if (isEngineAway(failure)) {
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
