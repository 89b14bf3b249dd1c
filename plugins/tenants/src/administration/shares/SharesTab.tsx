import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Box, Text, TextField } from '@backstage/ui';
import {
  ActionButton,
  EmptyState,
  ifThere,
  Loaded,
  useNumber,
  useRead,
} from '@internal/pages';
import { RiDeleteBinLine } from '@remixicon/react';
import type {
  ReceivedShare,
  TenantShare,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { useOpenTenant } from '../../openTenant/OpenTenantContext';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { PlainTable } from '../PlainTable';
import styles from './shares.module.css';

const NEW_SHARE = { filter: '', targets: 'all', owner: '' };

const textOf = ({ filter }: TenantShare) => filter.join('; ');

/** The parts of a list as it is typed. */
const partsOf = (text: string, separator: string) =>
  text
    .split(separator)
    .map(part => part.trim())
    .filter(Boolean);

/** What a tenant shares with others, and what it receives. */
export function SharesTab({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const mayShare = useOpenTenant()?.administers_tenants === true;
  const [announcement, setAnnouncement] = useState('');
  const read = useRead(() => tenantsApi.listShares(slug), [tenantsApi, slug]);
  const end = async ({ share_id }: TenantShare) => {
    await ifThere(tenantsApi.deleteShare(slug, share_id));
    setAnnouncement(t('shares.end.done'));
    read.retry();
  };
  return (
    <Box pb="6">
      <Part
        title={t('shares.title')}
        explanation={t('shares.explanation')}
        said={announcement}
      >
        {mayShare && (
          <CreateShare
            slug={slug}
            onCreated={() => setAnnouncement(t('shares.create.done'))}
            // It may be there where only the answer was lost.
            onTried={read.retry}
          />
        )}
        <Loaded state={read} failed={t('shares.failed')} height={160}>
          {({ shares, received }) => (
            <>
              <Given shares={shares} onEnd={mayShare ? end : undefined} />
              <Received received={received} />
            </>
          )}
        </Loaded>
      </Part>
    </Box>
  );
}

function CreateShare(props: {
  slug: string;
  onCreated: () => void;
  onTried: () => void;
}) {
  const { slug, onCreated, onTried } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [share, setShare] = useState(NEW_SHARE);
  const filter = partsOf(share.filter, ';');
  const targets = partsOf(share.targets, ',');
  const field = (name: keyof typeof NEW_SHARE) => ({
    label: t(`shares.create.${name}`),
    description: t(`shares.create.${name}Hint`),
    value: share[name],
    onChange: (text: string) => setShare({ ...share, [name]: text }),
  });
  return (
    <div>
      <ActionButton
        open={t('shares.create.open')}
        onOpen={() => setShare(NEW_SHARE)}
        title={t('shares.create.title')}
        texts={[t('shares.create.text')]}
        submit={t('shares.create.submit')}
        failed={t('shares.create.failed')}
        isDisabled={filter.length === 0 || targets.length === 0}
        onSubmit={async idempotencyKey => {
          try {
            await tenantsApi.createShare(
              slug,
              {
                filter,
                targets: targets.join() === 'all' ? 'all' : targets,
                owner: share.owner.trim() || null,
              },
              { idempotencyKey },
            );
            onCreated();
          } finally {
            onTried();
          }
        }}
      >
        <TextField isRequired {...field('filter')} />
        <TextField isRequired {...field('targets')} />
        <TextField {...field('owner')} />
      </ActionButton>
    </div>
  );
}

function Given(props: {
  shares: TenantShare[];
  onEnd?: (share: TenantShare) => Promise<void>;
}) {
  const { shares, onEnd } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <Part level={3} title={t('shares.given.title')}>
      {shares.length === 0 && <EmptyState text={t('shares.given.none')} />}
      {shares.length > 0 && (
        <PlainTable
          className={`${styles.table} ${styles.given}`}
          columns={[
            t('shares.given.columns.filter'),
            t('shares.given.columns.targets'),
            t('shares.given.columns.copies'),
            ...(onEnd ? [t('shares.given.columns.actions')] : []),
          ]}
        >
          {shares.map(share => (
            <tr key={share.share_id}>
              <th scope="row">
                {share.filter.map(text => (
                  <div key={text}>{text}</div>
                ))}
              </th>
              <td>
                {share.targets === 'all'
                  ? t('shares.given.all')
                  : share.targets.join(', ')}
              </td>
              <td>
                <Counts {...share} />
              </td>
              {onEnd && (
                <td>
                  <ActionButton
                    icon={<RiDeleteBinLine />}
                    open={t('shares.end.action', { filter: textOf(share) })}
                    title={t('shares.end.title')}
                    texts={[t('shares.end.text', { filter: textOf(share) })]}
                    destructive
                    submit={t('shares.end.submit')}
                    failed={t('shares.end.failed')}
                    onSubmit={() => onEnd(share)}
                  />
                </td>
              )}
            </tr>
          ))}
        </PlainTable>
      )}
    </Part>
  );
}

function Received({ received }: { received: ReceivedShare[] }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <Part level={3} title={t('shares.received.title')}>
      {received.length === 0 && <EmptyState text={t('shares.received.none')} />}
      {received.length > 0 && (
        <PlainTable
          className={styles.table}
          columns={[
            t('shares.received.columns.from'),
            t('shares.received.columns.copies'),
          ]}
        >
          {received.map(share => (
            <tr key={share.share_id}>
              <th scope="row">{share.tenant_slug}</th>
              <td>
                <Counts {...share} />
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Part>
  );
}

function Counts({ copies, conflicts }: { copies: number; conflicts: number }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const numberOf = useNumber();
  return (
    <>
      {numberOf(copies)}{' '}
      {conflicts > 0 && (
        <Text as="span" variant="body-small" color="secondary">
          {t('shares.conflicts', { count: conflicts })}
        </Text>
      )}
    </>
  );
}
