/** Texts of the members of a tenant. */
export const membersMessages = {
  title: 'Members',
  explanation:
    'A viewer reads. A member also creates and changes things. An admin also changes the members and the sources of the catalog.',
  found_one: '{{count}} member',
  found_other: '{{count}} members',
  failed: 'The members could not be loaded',
  none: 'There are no members yet. Until you add one, only users listed in tenancy.admins may enter this tenant.',
  columns: {
    member: 'Member',
    role: 'Role',
    added: 'Added',
    actions: 'Actions',
  },
  kinds: {
    user: 'Person',
    group: 'Group',
    service: 'Service',
  },
  you: 'you',
  yours: 'a group of yours',
  added: 'by {{by}}',
  roles: {
    viewer: 'Viewer',
    member: 'Member',
    admin: 'Admin',
    of: 'Role of {{name}}',
    changed: '{{name}} has the role {{role}} now.',
    failed: 'The role of {{name}} could not be changed',
  },
  add: {
    title: 'Add a member',
    label: 'Person or group',
    description:
      'Search the people and groups of the portal, or type a principal: user:<namespace>/<name>, group:<namespace>/<name>, or the subject of a service.',
    placeholder: 'Name, or principal',
    role: 'Role',
    submit: 'Add',
    failed: 'Not added',
    missing: 'Choose a person or group, or type a principal.',
    asTyped: '{{text}} as typed',
    asService: 'The service {{text}}',
    unclear:
      'Choose somebody from the list. If this is the subject of a service, choose “The service {{text}}” there.',
    nobody: 'The catalog of the portal has nobody with this name',
    more: '{{shown}} of {{total}}: type more to find others',
    refused:
      'You may not read the catalog of the default tenant, which has the people and groups. Type the principal instead.',
    unavailable:
      'The catalog of the default tenant, which has the people and groups, can’t be searched at the moment. You can still type a principal.',
    found_one: '{{count}} person or group found',
    found_other: '{{count}} people and groups found',
    added: '{{name}} was added with the role {{role}}.',
    changed: '{{name}} was a member before, and has the role {{role}} now.',
  },
  invitations: {
    title: 'Invitations',
    explanation:
      'The first person who signs in and opens the link of an invitation becomes a member. With an address, only the person at that address can.',
    failed: 'The invitations could not be loaded',
    none: 'Nobody has been invited yet.',
    more: 'The newest {{shown}} of {{total}} are shown.',
    anybody: 'Anybody with the link',
    columns: { for: 'For', state: 'State' },
    states: {
      open: 'Open, ends',
      accepted: 'Accepted by {{by}}',
      expired: 'Ended',
    },
    invite: {
      open: 'Invite…',
      title: 'Invite somebody',
      email: 'E-mail address (optional)',
      emailHint:
        'The one that the portal has of this person. Without it, anybody with the link can accept.',
      days: 'Can be accepted for',
      day_one: '{{count}} day',
      day_other: '{{count}} days',
      submit: 'Invite',
      failed: 'Not invited',
    },
    link: {
      sent: 'The invitation was sent to {{email}}',
      made: 'Send this link to the person',
      once: 'The link is shown only once. It makes one person a member.',
      copy: 'Copy the link',
    },
    revoke: {
      action: 'Remove the invitation of {{name}}',
      title: 'Remove the invitation?',
      open: 'Nobody can accept it then. If it was sent already, tell the person.',
      accepted: 'It is removed from this list. The person stays a member.',
      expired: 'It is removed from this list.',
      confirm: 'Remove',
      failed: 'Not removed',
      done: 'The invitation was removed.',
    },
  },
  signIn: {
    title: 'Sign-in',
    explanation:
      'People can sign in by an OpenID provider of this tenant, at its hostname. Each is user:{{slug}}/<name>, whatever the provider says.',
    failed: 'The provider could not be loaded',
    off: {
      title: 'The operator has not switched this on',
      description: 'It needs auth.providers.tenant in app-config.',
    },
    none: 'This tenant has no provider of its own. People sign in as everywhere else in the portal.',
    add: 'Add a provider…',
    change: 'Change the provider…',
    redirectUrl: 'Redirect URL to register at the provider',
    changed: 'Changed',
    nobodyJoins: 'None: only members sign in',
    fields: {
      issuer: 'Issuer',
      client_id: 'Client ID',
      client_secret: 'Reference to the client secret',
      allowed_domains: 'Allowed domains',
      roles: 'Roles by group',
      scopes: 'More scopes',
      name_claim: 'Claim with the name',
      email_claim: 'Claim with the e-mail address',
      groups_claim: 'Claim with the groups',
      auto_join: 'Role of people who sign in first',
    },
    hints: {
      issuer:
        'As in the metadata of the provider, such as https://id.example.com.',
      client_id: 'What the provider calls this portal.',
      client_secret:
        '${NAME}, a variable that the operator lists for this tenant, or $file: name in its folder of secrets. The secret itself is stored nowhere here.',
      allowed_domains:
        'Only verified addresses of these domains, separated by commas. Without any, everybody whom the provider knows.',
      roles:
        'One group on each line, such as staff: member. The highest role counts, and is given at each sign-in.',
      scopes: 'Beside openid, profile and email, such as offline_access.',
      name_claim: 'Default: preferred_username.',
      email_claim: 'Default: email.',
      groups_claim: 'Default: groups.',
    },
    dialog: {
      add: 'Add a provider',
      change: 'Change the provider',
      text: 'It applies from the next sign-in. With another issuer or client, all sessions end.',
      submit: 'Save',
      failed: 'Not saved',
      done: 'The provider is saved.',
    },
    remove: {
      open: 'Remove the provider…',
      title: 'Remove the provider?',
      text: 'Nobody signs in by it any more, and sessions end when they are refreshed, within an hour. The people stay members.',
      confirm: 'Remove',
      failed: 'Not removed',
      done: 'The provider was removed.',
    },
  },
  remove: {
    action: 'Remove {{name}}',
    title: 'Remove {{name}}?',
    user: '{{name}} is refused from the next request on, unless a group that is a member lets them in.',
    group:
      'The people of {{name}} are refused from their next request on, unless they are members by themselves or by another group.',
    service: '{{name}} is refused from its next request on.',
    yourself:
      'This is you. Afterwards you may not undo it, unless tenancy.admins lists you or a group of yours is an admin here.',
    yourGroup:
      'You belong to this group. Unless you are an admin here in another way, you lose this page too.',
    confirm: 'Remove',
    failed: 'Not removed',
    removed: '{{name}} was removed.',
  },
  demote: {
    title: 'Give up your own role of admin?',
    yourself:
      'You still enter the tenant, but you may change neither its members nor its sources. Another admin has to give the role back to you.',
    yourGroup:
      'You belong to {{name}}. Unless you are an admin here in another way, you may change neither the members nor the sources of the tenant any more.',
    confirm: 'Change the role',
    cancel: 'Keep it',
  },
} as const;
