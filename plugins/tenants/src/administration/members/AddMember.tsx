import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Box, Button } from '@backstage/ui';
import {
  Failure,
  messageOf,
  NOTHING_PICKED,
  type Picked,
  statusOf,
} from '@internal/pages';
import type { TenantMember, TenantRole } from 'backstage-plugin-tenants-common';
import { type FormEvent, useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import shared from '../administration.module.css';
import styles from './members.module.css';
import { PrincipalPicker } from './PrincipalPicker';
import { RoleSelect } from './RoleSelect';
import { isPlainSubject } from './useMembers';

class MissingPrincipal extends Error {}

/** Adds a person, a group or a service to a tenant. */
export function AddMember(props: {
  slug: string;
  onAdded: (member: TenantMember, picked: Picked) => void;
}) {
  const { slug, onAdded } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [picked, setPicked] = useState(NOTHING_PICKED);
  const [role, setRole] = useState<TenantRole>('member');
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<Error>();

  const isOfPrincipal = error && isAboutPrincipal(error);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (isPending) {
      return;
    }
    const principal = picked.id ?? picked.text.trim();
    if (!principal) {
      setError(new MissingPrincipal(t('members.add.missing')));
      return;
    }
    if (picked.id === undefined && isPlainSubject(principal)) {
      // A name that somebody has typed would become a service of that name.
      setError(
        new MissingPrincipal(t('members.add.unclear', { text: principal })),
      );
      return;
    }
    setIsPending(true);
    setError(undefined);
    try {
      const member = await tenantsApi.putMember(slug, principal, { role });
      setPicked(NOTHING_PICKED);
      onAdded(member, picked);
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setIsPending(false);
    }
  };

  return (
    <section className={shared.section}>
      <form
        onSubmit={submit}
        aria-label={t('members.add.title')}
        className={styles.add}
      >
        <div className={styles.picker}>
          <PrincipalPicker
            slug={slug}
            value={picked}
            onChange={next => {
              setPicked(next);
              setError(undefined);
            }}
            error={isOfPrincipal ? messageOf(error) : undefined}
          />
        </div>
        <RoleSelect role={role} onChange={setRole} size="medium" />
        <Button type="submit" size="medium" isPending={isPending}>
          {t('members.add.submit')}
        </Button>
      </form>
      {error && !isOfPrincipal && (
        <Box mt="4">
          <Failure title={t('members.add.failed')} error={error} />
        </Box>
      )}
    </section>
  );
}

/** The backend says of each principal what is wrong with it; it is the field's then. */
function isAboutPrincipal(error: Error): boolean {
  return error instanceof MissingPrincipal || statusOf(error) === 400;
}
