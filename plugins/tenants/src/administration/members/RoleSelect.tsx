import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Select } from '@backstage/ui';
import { TENANT_ROLES, type TenantRole } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../../translation';

/** Chooses a role. */
export function RoleSelect(props: {
  role: TenantRole;
  onChange: (role: TenantRole) => void;
  /** What screen readers say where there is no label to see. */
  'aria-label'?: string;
  size?: 'medium';
}) {
  const { role, onChange, ...others } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <Select
      {...others}
      label={others['aria-label'] ? undefined : t('members.add.role')}
      options={TENANT_ROLES.map(id => ({
        id,
        label: t(`members.roles.${id}`),
      }))}
      value={role}
      onChange={next => onChange(next as TenantRole)}
    />
  );
}
