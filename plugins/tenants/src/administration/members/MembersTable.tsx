import { useTranslationRef } from '@backstage/frontend-plugin-api';
import type { ReactNode } from 'react';
import { tenantsTranslationRef } from '../../translation';
import styles from './members.module.css';

/** A table of who is in a tenant, or invited into it. */
export function MembersTable(props: {
  /** The first column, and the third one. */
  who: string;
  state: string;
  isBusy?: boolean;
  /** The rows. */
  children: ReactNode;
}) {
  const { who, state, isBusy, children } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <table className={styles.table} aria-busy={isBusy}>
      <thead>
        <tr>
          <th scope="col">{who}</th>
          <th scope="col">{t('members.columns.role')}</th>
          <th scope="col">{state}</th>
          <th scope="col" className={styles.actions}>
            {t('members.columns.actions')}
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
