import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Box, Button } from '@backstage/ui';
import {
  Failure,
  messageOf,
  NOTHING_PICKED,
  type Picked,
  SlowNote,
  statusOf,
  useTask,
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
  const [problem, setProblem] = useState<string>();
  const { isPending, failure, forget, run } = useTask();
  // The backend says of each principal what is wrong with it; it is the field's then.
  const isOfField = statusOf(failure?.error) === 400;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (isPending) {
      return;
    }
    const principal = picked.id ?? picked.text.trim();
    if (!principal) {
      setProblem(t('members.add.missing'));
      return;
    }
    if (picked.id === undefined && isPlainSubject(principal)) {
      // A typed name would become a service of that name.
      setProblem(t('members.add.unclear', { text: principal }));
      return;
    }
    await run(t('members.add.failed'), async () => {
      const member = await tenantsApi.putMember(slug, principal, { role });
      // Somebody else may have been picked meanwhile.
      setPicked(now => (now === picked ? NOTHING_PICKED : now));
      onAdded(member, picked);
    });
  };

  return (
    <section className={shared.section}>
      <form
        onSubmit={submit}
        aria-label={t('members.add.title')}
        className={styles.add}
      >
        {/* The field and what it says are one column of the grid. */}
        <div>
          <PrincipalPicker
            slug={slug}
            value={picked}
            onChange={next => {
              setPicked(next);
              setProblem(undefined);
              forget();
            }}
            error={
              problem ?? (isOfField ? messageOf(failure?.error) : undefined)
            }
          />
        </div>
        <RoleSelect role={role} onChange={setRole} size="medium" />
        <Button type="submit" size="medium" isPending={isPending}>
          {t('members.add.submit')}
        </Button>
      </form>
      <SlowNote isPending={isPending} />
      {failure && !isOfField && (
        <Box mt="4">
          <Failure {...failure} />
        </Box>
      )}
    </section>
  );
}
