import {
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Flex } from '@backstage/ui';
import {
  ActionDialog,
  ifThere,
  ListFrame,
  statusOf,
  useListQuery,
  useTask,
} from '@internal/pages';
import type { TenantMember, TenantRole } from 'backstage-plugin-tenants-common';
import { useCallback, useRef, useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { PlainTable } from '../PlainTable';
import { AddMember } from './AddMember';
import { Invitations } from './Invitations';
import { MemberRow } from './MemberRow';
import styles from './members.module.css';
import { SignIn } from './signIn/SignIn';
import { PAGE_SIZE, useMembers } from './useMembers';

/** Who may enter a tenant. */
export function MembersTab({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const identityApi = useApi(identityApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [query, setQuery] = useListQuery({});
  const { nameOf, ...members } = useMembers(slug, query.page);
  const { retry } = members;
  const { value: identity } = useAsync(
    () => identityApi.getBackstageIdentity(),
    [identityApi],
  );
  /** A change of the own role that is asked about before it is made. */
  const [demotion, setDemotion] = useState<{
    member: TenantMember;
    role: TenantRole;
  }>();
  const { isPendingOf, notes, run } = useTask();
  const [announcement, setAnnouncement] = useState('');
  const adding = useRef<HTMLDivElement>(null);

  const ownOf = useCallback(
    ({ principal }: TenantMember) => {
      if (identity?.userEntityRef.toLowerCase() === principal) {
        return 'yourself';
      }
      return identity?.ownershipEntityRefs.some(
        ref => ref.toLowerCase() === principal,
      )
        ? 'yourGroup'
        : undefined;
    },
    [identity],
  );
  const roleText = (role: TenantRole) => t(`members.roles.${role}`);

  const putRole = async ({ principal }: TenantMember, role: TenantRole) => {
    const name = nameOf(principal);
    const work = async () => {
      await tenantsApi.putMember(slug, principal, { role });
      setAnnouncement(
        t('members.roles.changed', { name, role: roleText(role) }),
      );
      retry();
    };
    await run(t('members.roles.failed', { name }), work, principal);
  };

  const changeRole = (member: TenantMember, role: TenantRole) => {
    if (member.role === 'admin' && ownOf(member)) {
      setDemotion({ member, role });
    } else {
      putRole(member, role);
    }
  };

  const remove = async ({ principal }: TenantMember) => {
    await ifThere(tenantsApi.removeMember(slug, principal));
    setAnnouncement(t('members.remove.removed', { name: nameOf(principal) }));
    retry();
  };

  const isRefused = [403, 404].includes(statusOf(members.error) ?? 0);
  return (
    <Flex direction="column" gap="8" pb="6">
      <Part
        title={t('members.title')}
        explanation={t('members.explanation')}
        said={announcement}
      >
        {!isRefused && (
          <div ref={adding}>
            <AddMember
              slug={slug}
              onAdded={(member, picked) => {
                const known = members.value?.items.some(
                  each => each.principal === member.principal,
                );
                setAnnouncement(
                  t(known ? 'members.add.changed' : 'members.add.added', {
                    name: picked.text,
                    role: roleText(member.role),
                  }),
                );
                retry();
              }}
            />
          </div>
        )}
        {notes}
        <ListFrame
          state={members}
          query={query}
          onQuery={setQuery}
          pageSize={PAGE_SIZE}
          texts={{
            failed: t('members.failed'),
            found: count => t('members.found', { count }),
            none: t('members.none'),
          }}
          noneAction={
            <Button
              variant="secondary"
              onPress={() => adding.current?.querySelector('input')?.focus()}
            >
              {t('members.add.title')}
            </Button>
          }
        >
          {items => (
            <PlainTable
              className={styles.table}
              columns={[
                t('members.columns.member'),
                t('members.columns.role'),
                t('members.columns.added'),
                t('members.columns.actions'),
              ]}
            >
              {items.map(member => (
                <MemberRow
                  key={member.principal}
                  member={member}
                  name={nameOf(member.principal)}
                  own={ownOf(member)}
                  isPending={isPendingOf(member.principal)}
                  onRole={role => changeRole(member, role)}
                  onRemove={() => remove(member)}
                />
              ))}
            </PlainTable>
          )}
        </ListFrame>
        {demotion && renderQuestion(demotion)}
      </Part>
      {!isRefused && <Invitations slug={slug} />}
      {!isRefused && <SignIn slug={slug} />}
    </Flex>
  );

  function renderQuestion({ member, role }: NonNullable<typeof demotion>) {
    const name = nameOf(member.principal);
    const close = () => setDemotion(undefined);
    return (
      <ActionDialog
        title={t('members.demote.title')}
        texts={[t(`members.demote.${ownOf(member) ?? 'yourself'}`, { name })]}
        destructive
        submit={t('members.demote.confirm')}
        cancel={t('members.demote.cancel')}
        failed={t('members.roles.failed', { name })}
        onSubmit={async () => {
          close();
          await putRole(member, role);
        }}
        onClose={close}
      />
    );
  }
}
