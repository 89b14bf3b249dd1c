/** Texts about the tenant that is open in this page. */
export const openTenantMessages = {
  signedInAs: 'You are signed in as {{user}}.',
  signOut: 'Sign out',
  menu: {
    button: 'Tenant {{name}}. Open another tenant',
    name: 'Tenant {{name}}',
    find: 'Find a tenant',
    list: 'Tenants that you may enter',
    empty: 'No tenant has this name',
    loading: 'Loading…',
    failed: 'The tenants could not be listed. Try again',
    notKept:
      'This browser does not store the tenant that you choose. Allow this site to store data, and choose again.',
  },
  failed: {
    title: 'The tenant could not be opened',
  },
  none: {
    title: 'You may not enter any tenant',
    text: 'Ask an administrator of this portal to add you, or one of your groups, as a member of a tenant.',
  },
  other: {
    title: 'You may not enter this tenant',
    named:
      'You may not enter the tenant “{{slug}}”: there is none of this name, or you are not a member of it.',
    unnamed:
      'You may not enter the tenant at this address: there is none, or you are not a member of it.',
    ask: 'If you need it, ask an administrator of this portal to add you as a member.',
    choose: 'You may enter these tenants:',
    more: 'There are {{number}} more: open one of these, and find them in its menu.',
    portal: 'Go to {{host}}',
  },
  invitation: {
    title: 'You are invited',
    text: 'Accept the invitation to become a member of a tenant of this portal, which opens then.',
    accept: 'Accept',
    over: 'The invitation can’t be accepted',
    failed: 'The invitation was not accepted',
  },
  gone: {
    title: 'You can no longer enter {{name}}',
    text: 'The portal now refuses this page. The tenant may have been deleted, or you may no longer be a member of it.',
    keep: 'What you typed can no longer be saved. Copy what you need before you leave.',
    failed: 'Your other tenants could not be listed',
    stay: 'Stay on this page',
    check: 'Check again',
    stillClosed: 'The tenant was not opened again',
    refused: 'The portal still refuses this page.',
    banner:
      'You can no longer enter {{name}}. What this page shows may be out of date, and nothing can be saved.',
    leave: 'Open another tenant',
  },
} as const;
