import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  Flex,
  Select,
  Text,
  TextField,
  VisuallyHidden,
} from '@backstage/ui';
import {
  EmptyState,
  Loading,
  Moment,
  MoreButton,
  ReadFailure,
  usePages,
} from '@internal/pages';
import type {
  ListTenantAudit,
  TenantAuditEvent,
  TenantAuditOutcome,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Facts } from '../Facts';
import styles from './activity.module.css';

type Search = Pick<ListTenantAudit, 'actor' | 'event' | 'outcome'>;

const PAGE_SIZE = 50;

const OUTCOMES = ['all', 'succeeded', 'failed', 'unknown'] as const;

/** Who did what in a tenant. */
export function ActivityTab({ slug }: { slug: string }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [search, setSearch] = useState<Search>({});
  const tenantsApi = useApi(tenantsApiRef);
  const events = usePages(
    async cursor => {
      const page = await tenantsApi.listAudit(slug, {
        ...search,
        limit: PAGE_SIZE,
        ...(cursor !== undefined && { cursor }),
      });
      return { items: page.items, nextCursor: page.next_cursor };
    },
    [tenantsApi, slug, search],
  );
  const { pages, items, error, loading, readMore } = events;
  const isSearch = Object.keys(search).length > 0;
  return (
    <Flex direction="column" gap="4" pb="6">
      <Text as="p" color="secondary">
        {t('activity.explanation')}
      </Text>
      <SearchForm onSearch={setSearch} />
      <VisuallyHidden role="status">
        {pages.length > 0 && !loading
          ? t('activity.shown', { count: items.length })
          : ''}
      </VisuallyHidden>
      {loading && pages.length === 0 && !error && <Loading height={160} />}
      {pages.length > 0 && items.length === 0 && (
        <EmptyState text={t(isSearch ? 'activity.noMatch' : 'activity.none')} />
      )}
      {items.length > 0 && (
        <ol className={styles.list} aria-busy={loading}>
          {items.map(event => (
            <Event key={event.id} event={event} />
          ))}
        </ol>
      )}
      <ReadFailure title={t('activity.failed')} state={events} />
      <MoreButton
        label={t('activity.more')}
        isPending={loading}
        onMore={readMore}
      />
    </Flex>
  );
}

function SearchForm({ onSearch }: { onSearch: (search: Search) => void }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [actor, setActor] = useState('');
  const [event, setEvent] = useState('');
  const [outcome, setOutcome] = useState<TenantAuditOutcome | 'all'>('all');
  return (
    <form
      role="search"
      className={styles.form}
      onSubmit={submitted => {
        submitted.preventDefault();
        onSearch({
          ...(actor.trim() && { actor: actor.trim() }),
          ...(event.trim() && { event: event.trim() }),
          ...(outcome !== 'all' && { outcome }),
        });
      }}
    >
      <TextField
        label={t('activity.actor')}
        placeholder={t('activity.actorHint')}
        maxLength={200}
        value={actor}
        onChange={setActor}
      />
      <TextField
        label={t('activity.event')}
        placeholder={t('activity.eventHint')}
        maxLength={200}
        value={event}
        onChange={setEvent}
      />
      <Select
        label={t('activity.outcome')}
        options={OUTCOMES.map(id => ({
          id,
          label: t(`activity.outcomes.${id}`),
        }))}
        value={outcome}
        onChange={next => setOutcome(next as TenantAuditOutcome | 'all')}
      />
      <div>
        <Button type="submit" variant="secondary">
          {t('activity.search')}
        </Button>
      </div>
    </form>
  );
}

const COLORS = {
  succeeded: 'secondary',
  failed: 'danger',
  unknown: 'secondary',
} as const;

function Event({ event }: { event: TenantAuditEvent }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { actor, at, error, ip, meta, method, outcome, path, plugin } = event;
  return (
    <li className={styles.event}>
      <Flex gap="2" style={{ flexWrap: 'wrap' }} align="center">
        <Text weight="bold">{event.event}</Text>
        <Text color={COLORS[outcome]}>{t(`activity.outcomes.${outcome}`)}</Text>
      </Flex>
      <Text as="p" color="secondary">
        {actor ?? t('activity.nobody')}, <Moment at={at} brief />
      </Text>
      {error && (
        <Text as="p" color="danger">
          {error}
        </Text>
      )}
      <details>
        <summary>{t('activity.details')}</summary>
        <Facts
          facts={[
            [t('activity.at'), <Moment key="at" at={at} />],
            [t('activity.plugin'), plugin],
            [t('activity.request'), method && `${method} ${path}`],
            [t('activity.from'), ip],
            [t('activity.userAgent'), event.user_agent],
          ]}
        />
        {Object.keys(meta).length > 0 && (
          <pre aria-label={t('activity.meta')}>
            {JSON.stringify(meta, undefined, 2)}
          </pre>
        )}
      </details>
    </li>
  );
}
