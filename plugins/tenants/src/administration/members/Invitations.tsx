import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Flex, Select, Text, TextField } from '@backstage/ui';
import { RiDeleteBinLine } from '@remixicon/react';
import {
  ActionButton,
  Alert,
  CopyButton,
  EmptyState,
  ifThere,
  Loaded,
  Moment,
  useRead,
} from '@internal/pages';
import type {
  CreatedInvitation,
  TenantInvitation,
  TenantRole,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { PlainTable } from '../PlainTable';
import styles from './members.module.css';
import { RoleSelect } from './RoleSelect';

const SHOWN = 100;
const DAYS = ['1', '7', '30', '90'];

/** Invitations into a tenant, and a button that makes one. */
export function Invitations({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const read = useRead(
    () => tenantsApi.listInvitations(slug, { limit: SHOWN }),
    [tenantsApi, slug],
  );
  const [created, setCreated] = useState<CreatedInvitation>();
  const [announcement, setAnnouncement] = useState('');

  const revoke = async ({ id }: TenantInvitation) => {
    await ifThere(tenantsApi.revokeInvitation(slug, id));
    setCreated(last => (last?.id === id ? undefined : last));
    setAnnouncement(t('members.invitations.revoke.done'));
    read.retry();
  };

  return (
    <Part
      title={t('members.invitations.title')}
      explanation={t('members.invitations.explanation')}
      said={announcement}
    >
      <div>
        <InviteButton
          slug={slug}
          onCreated={invitation => {
            setCreated(invitation);
            setAnnouncement('');
          }}
          // It may be there where only the answer was lost.
          onTried={read.retry}
        />
      </div>
      <div role="status">
        {created && <CreatedLink key={created.id} invitation={created} />}
      </div>
      <Loaded state={read} failed={t('members.invitations.failed')} height={80}>
        {({ items, totalItems }) => (
          <>
            {totalItems === 0 && (
              <EmptyState text={t('members.invitations.none')} />
            )}
            {totalItems > 0 && <Table items={items} onRevoke={revoke} />}
            {totalItems > items.length && (
              <Text as="p" color="secondary">
                {t('members.invitations.more', {
                  shown: String(items.length),
                  total: String(totalItems),
                })}
              </Text>
            )}
          </>
        )}
      </Loaded>
    </Part>
  );
}

function InviteButton(props: {
  slug: string;
  onCreated: (invitation: CreatedInvitation) => void;
  onTried: () => void;
}) {
  const { slug, onCreated, onTried } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<TenantRole>('member');
  const [days, setDays] = useState('7');
  return (
    <ActionButton
      open={t('members.invitations.invite.open')}
      title={t('members.invitations.invite.title')}
      texts={[]}
      submit={t('members.invitations.invite.submit')}
      failed={t('members.invitations.invite.failed')}
      onOpen={() => setEmail('')}
      onSubmit={async idempotencyKey => {
        const address = email.trim();
        try {
          onCreated(
            await tenantsApi.createInvitation(
              slug,
              {
                role,
                valid_days: Number(days),
                ...(address && { email: address }),
              },
              { idempotencyKey },
            ),
          );
        } finally {
          onTried();
        }
      }}
    >
      <TextField
        label={t('members.invitations.invite.email')}
        description={t('members.invitations.invite.emailHint')}
        value={email}
        onChange={setEmail}
        autoComplete="off"
      />
      <RoleSelect role={role} onChange={setRole} />
      <Select
        label={t('members.invitations.invite.days')}
        options={DAYS.map(id => ({
          id,
          label: t('members.invitations.invite.day', { count: Number(id) }),
        }))}
        value={days}
        onChange={next => setDays(String(next))}
      />
    </ActionButton>
  );
}

/** The link of a new invitation, which is shown only once. */
function CreatedLink({ invitation }: { invitation: CreatedInvitation }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { link, sent, email } = invitation;
  return (
    <Alert
      status="success"
      icon
      title={
        sent && email
          ? t('members.invitations.link.sent', { email })
          : t('members.invitations.link.made')
      }
      description={
        <Flex direction="column" gap="2">
          <Text as="p">{t('members.invitations.link.once')}</Text>
          <code className={styles.link}>{link}</code>
        </Flex>
      }
      customActions={
        <CopyButton
          label={t('members.invitations.link.copy')}
          textOf={() => link}
        />
      }
    />
  );
}

function Table(props: {
  items: TenantInvitation[];
  onRevoke: (invitation: TenantInvitation) => Promise<void>;
}) {
  const { items, onRevoke } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const nameOf = ({ email }: TenantInvitation) =>
    email ?? t('members.invitations.anybody');
  return (
    <PlainTable
      className={styles.table}
      columns={[
        t('members.invitations.columns.for'),
        t('members.columns.role'),
        t('members.invitations.columns.state'),
        t('members.columns.actions'),
      ]}
    >
      {items.map(invitation => (
        <tr key={invitation.id} className={styles.row}>
          <th scope="row">
            <div>{nameOf(invitation)}</div>
            <Text as="span" variant="body-small" color="secondary">
              {t('members.added', { by: invitation.created_by })}
            </Text>
          </th>
          <td>{t(`members.roles.${invitation.role}`)}</td>
          <td className={styles.added}>
            {invitation.state === 'accepted' && invitation.accepted_by
              ? t('members.invitations.states.accepted', {
                  by: invitation.accepted_by,
                })
              : t(
                  invitation.state === 'open'
                    ? 'members.invitations.states.open'
                    : 'members.invitations.states.expired',
                )}{' '}
            <Moment at={invitation.accepted_at ?? invitation.expires_at} />
          </td>
          <td className={styles.actions}>
            <ActionButton
              icon={<RiDeleteBinLine />}
              open={t('members.invitations.revoke.action', {
                name: nameOf(invitation),
              })}
              title={t('members.invitations.revoke.title')}
              texts={[t(`members.invitations.revoke.${invitation.state}`)]}
              destructive
              submit={t('members.invitations.revoke.confirm')}
              failed={t('members.invitations.revoke.failed')}
              onSubmit={() => onRevoke(invitation)}
            />
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}
