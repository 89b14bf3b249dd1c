import { Progress } from '@backstage/core-components';
import { ResponseError } from '@backstage/errors';
import {
  configApiRef,
  discoveryApiRef,
  fetchApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Alert, Button, ButtonIcon, Flex, Text } from '@backstage/ui';
import { RiDeleteBinLine } from '@remixicon/react';
import { ActionDialog, messageOf, statusOf } from '@internal/pages';
import { useState } from 'react';
import useAsyncRetry from 'react-use/esm/useAsyncRetry';
import useInterval from 'react-use/esm/useInterval';
import { tenantsTranslationRef } from '../../translation';
import shared from '../administration.module.css';
import styles from './sources.module.css';

/** How soon the page asks again while the engine can't answer. */
const RETRY_MS = 5_000;

interface RegisteredLocation {
  id: string;
  type: string;
  target: string;
}

/** The hostname decides before the header which tenant a request is for. */
class OtherTenantsHostname extends Error {
  constructor(readonly portal: string) {
    super(`The tenant can't be named at this hostname`);
  }
}

/** The locations that members of the tenant have registered with its catalog. */
export function RegisteredLocations({ slug }: { slug: string }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const catalog = useCatalogOf(slug);
  const { value, error, loading, retry } = useAsyncRetry(
    () => catalog.list(),
    [slug],
  );
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
  const [removing, setRemoving] = useState<RegisteredLocation>();
  const [announcement, setAnnouncement] = useState('');

  return (
    <>
      <section className={shared.section}>
        <Flex direction="column" gap="3">
          <h3 className={styles.heading}>{t('sources.registered.title')}</h3>
          <Text as="p" color="secondary">
            {t('sources.registered.explanation')}
          </Text>
          {loading && !value && (
            <Progress aria-label={t('sources.registered.loading')} />
          )}
          {error && renderFailure(error)}
          {!error && value?.length === 0 && (
            <Text as="p">{t('sources.registered.none')}</Text>
          )}
          {value && value.length > 0 && (
            <ul className={styles.list}>
              {value.map(location => (
                <li key={location.id}>
                  <div className={styles.target}>{location.target}</div>
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
          <div role="status">
            {announcement && <Text color="secondary">{announcement}</Text>}
          </div>
        </Flex>
      </section>
      {removing && (
        <ActionDialog
          title={t('sources.registered.question')}
          texts={[t('sources.registered.meaning', removing)]}
          destructive
          submit={t('sources.registered.confirm')}
          failed={t('sources.registered.notRemoved')}
          onSubmit={() => catalog.remove(removing.id)}
          onDone={() => {
            setAnnouncement(t('sources.registered.removed', removing));
            retry();
          }}
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
    return (
      <Alert
        role={isEngineAway ? 'status' : 'alert'}
        status={isEngineAway ? 'info' : 'danger'}
        icon
        title={t(
          isEngineAway
            ? 'sources.registered.engineAway'
            : 'sources.registered.failed',
        )}
        description={messageOf(failure)}
        customActions={
          <Button size="small" variant="secondary" onPress={retry}>
            {t('sources.retry')}
          </Button>
        }
      />
    );
  }
}

/** Calls the catalog of one tenant, whichever tenant is open in the page. */
function useCatalogOf(slug: string) {
  const configApi = useApi(configApiRef);
  const discoveryApi = useApi(discoveryApiRef);
  const fetchApi = useApi(fetchApiRef);

  async function send(path: string, method = 'GET'): Promise<Response> {
    const baseUrl = await discoveryApi.getBaseUrl('catalog');
    const portal = configApi.getString('app.baseUrl');
    const hosts = [portal, configApi.getString('backend.baseUrl')].map(
      url => new URL(url).host,
    );
    if (!hosts.includes(new URL(baseUrl, window.location.href).host)) {
      throw new OtherTenantsHostname(portal);
    }
    const response = await fetchApi.fetch(`${baseUrl}${path}`, {
      method,
      headers: { 'X-Tenant-Slug': slug },
    });
    if (!response.ok) {
      throw await ResponseError.fromResponse(response);
    }
    return response;
  }

  return {
    async list(): Promise<RegisteredLocation[]> {
      const response = await send('/locations');
      const locations: { data: RegisteredLocation }[] = await response.json();
      return locations.map(({ data }) => data);
    },
    async remove(id: string): Promise<void> {
      await send(`/locations/${encodeURIComponent(id)}`, 'DELETE');
    },
  };
}
