import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Badge, Text } from '@backstage/ui';
import {
  RiDeleteBinLine,
  RiGroupLine,
  RiServerLine,
  RiUserLine,
} from '@remixicon/react';
import { ActionButton, Moment } from '@internal/pages';
import type { TenantMember, TenantRole } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../../translation';
import styles from './members.module.css';
import { RoleSelect } from './RoleSelect';
import { kindOf } from './useMembers';

const ICONS = { user: RiUserLine, group: RiGroupLine, service: RiServerLine };

/** A member in the table. */
export function MemberRow(props: {
  member: TenantMember;
  name: string;
  /** What the person who looks has to do with this member. */
  own?: 'yourself' | 'yourGroup';
  isPending: boolean;
  onRole: (role: TenantRole) => void;
  onRemove: () => Promise<void>;
}) {
  const { member, name, own, isPending } = props;
  const { onRole, onRemove } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const kind = kindOf(member.principal);
  const Icon = ICONS[kind];
  return (
    <tr className={styles.row}>
      <th scope="row">
        <div className={styles.member}>
          <Icon size={20} aria-label={t(`members.kinds.${kind}`)} role="img" />
          <div className={styles.names}>
            <div>
              <Text as="span" weight="bold">
                {name}
              </Text>{' '}
              {own && (
                <Badge>
                  {t(own === 'yourself' ? 'members.you' : 'members.yours')}
                </Badge>
              )}
            </div>
            {name !== member.principal && (
              <Text as="span" variant="body-small" color="secondary">
                {member.principal}
              </Text>
            )}
          </div>
        </div>
      </th>
      <td>
        <RoleSelect
          aria-label={t('members.roles.of', { name })}
          role={member.role}
          // Disabled, it would lose the focus while it is saved.
          onChange={role => !isPending && role !== member.role && onRole(role)}
        />
      </td>
      <td className={styles.added}>
        <Moment at={member.created_at} brief />{' '}
        <Text as="span" variant="body-small" color="secondary">
          {t('members.added', { by: member.created_by })}
        </Text>
      </td>
      <td className={styles.actions}>
        <ActionButton
          icon={<RiDeleteBinLine />}
          open={t('members.remove.action', { name })}
          title={t('members.remove.title', { name })}
          texts={[t(`members.remove.${kind}`, { name })]}
          warning={own && t(`members.remove.${own}`)}
          destructive
          submit={t('members.remove.confirm')}
          isDisabled={isPending}
          failed={t('members.remove.failed')}
          onSubmit={onRemove}
        />
      </td>
    </tr>
  );
}
