import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Select, Text, TextAreaField, TextField } from '@backstage/ui';
import { ActionButton } from '@internal/pages';
import {
  TENANT_ROLES,
  type TenantRole,
  type TenantSignIn,
} from 'backstage-plugin-tenants-common';
import { type ReactNode, useState } from 'react';
import { tenantsApiRef } from '../../../api';
import { tenantsTranslationRef } from '../../../translation';
import { useProblems } from '../../problems';
import styles from '../members.module.css';
import {
  isOptional,
  TEXT_FIELDS,
  type TextField as Field,
  toProvider,
  toTexts,
} from './signInTexts';

/** The option that signing in alone makes no member. */
const NOBODY = 'nobody';

/** A button, and the dialog that asks by which provider the people of a tenant are to sign in. */
export function SignInButton(props: {
  slug: string;
  provider?: TenantSignIn;
  redirectUrl: ReactNode;
  onSaved: () => void;
}) {
  const { slug, provider, redirectUrl, onSaved } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [texts, setTexts] = useState(() => toTexts(provider));
  const [autoJoin, setAutoJoin] = useState(provider?.auto_join);
  const { send, field: problemProps } = useProblems(texts);

  const save = () =>
    send(async () => {
      await tenantsApi.putSignIn(slug, toProvider(texts, autoJoin));
      onSaved();
    });

  const propsOf = (field: Field) => ({
    label: t(`members.signIn.fields.${field}`),
    description: t(`members.signIn.hints.${field}`),
    isRequired: !isOptional(field),
    onChange: (text: string) => setTexts({ ...texts, [field]: text }),
    autoComplete: 'off',
    ...problemProps(field),
  });

  return (
    <ActionButton
      open={t(provider ? 'members.signIn.change' : 'members.signIn.add')}
      onOpen={() => {
        setTexts(toTexts(provider));
        setAutoJoin(provider?.auto_join);
      }}
      title={t(
        provider ? 'members.signIn.dialog.change' : 'members.signIn.dialog.add',
      )}
      texts={[t('members.signIn.dialog.text')]}
      submit={t('members.signIn.dialog.submit')}
      failed={t('members.signIn.dialog.failed')}
      onSubmit={save}
    >
      <div>
        <Text as="p" weight="bold" style={{ margin: 0 }}>
          {t('members.signIn.redirectUrl')}
        </Text>
        <code className={styles.link}>{redirectUrl}</code>
      </div>
      {TEXT_FIELDS.map(field =>
        field === 'roles' ? (
          <TextAreaField key={field} {...propsOf(field)} />
        ) : (
          <TextField key={field} {...propsOf(field)} />
        ),
      )}
      <Select
        label={t('members.signIn.fields.auto_join')}
        options={[NOBODY, ...TENANT_ROLES].map(id => ({
          id,
          label:
            id === NOBODY
              ? t('members.signIn.nobodyJoins')
              : t(`members.roles.${id as TenantRole}`),
        }))}
        value={autoJoin ?? NOBODY}
        onChange={next =>
          setAutoJoin(next === NOBODY ? undefined : (next as TenantRole))
        }
      />
    </ActionButton>
  );
}
