/** Texts of the list of tenants. */
export const listMessages = {
  title: 'All tenants',
  ownTitle: 'Tenants that you administer',
  failed: 'The tenants could not be read',
  placeholder: 'A part of the name or slug',
  state: {
    label: 'State',
    active: 'All but deleted ones',
    running: 'Running',
    with_errors: 'With errors in their sources',
    starting: 'Starting',
    paused: 'Paused',
    failed: 'Failed',
    deleted: 'Deleted',
  },
  order: {
    label: 'Sort by',
    slug: 'Slug',
    name: 'Name',
    newest: 'Newest',
  },
  several: {
    pause: {
      open: 'Pause engines',
      title_one: 'Pause the engine of {{count}} tenant?',
      title_other: 'Pause the engines of {{count}} tenants?',
    },
    resume: {
      open: 'Resume engines',
      title_one: 'Resume the engine of {{count}} tenant?',
      title_other: 'Resume the engines of {{count}} tenants?',
    },
    delete: {
      open: 'Delete',
      title_one: 'Delete {{count}} tenant?',
      title_other: 'Delete {{count}} tenants?',
      typed_one: 'Type the number of tenants, {{count}}',
      typed_other: 'Type the number of tenants, {{count}}',
    },
    restore: {
      open: 'Restore',
      title_one: 'Restore {{count}} tenant?',
      title_other: 'Restore {{count}} tenants?',
    },
  },
  found_one: '{{count}} tenant',
  found_other: '{{count}} tenants',
  none: 'There is no tenant yet.',
  noneInState: 'No tenant is in this state.',
  searchesErrors:
    'Catalogs are searched for errors for two seconds, small ones first: some tenants may be missing.',
  showActive: 'Show all tenants',
  ownNone:
    'You administer no tenant. Administrators of the portal, and those of each tenant, can make you an admin of one.',
  noMatch: 'No tenant has “{{search}}” in its name or slug.',
  column: {
    name: 'Name',
    slug: 'Slug',
    state: 'State',
    entities: 'Entities',
    created: 'Created',
  },
  entities: {
    ofLimit: '{{entities}} of {{limit}}',
    unlimited: '{{entities}}, no limit',
  },
  create: {
    open: 'Create tenant',
    title: 'Create a tenant',
    submit: 'Create',
    failed: 'Creating the tenant failed',
    name: {
      label: 'Name',
      description: 'What people call the tenant.',
    },
    slug: {
      label: 'Slug',
      description:
        'Part of addresses and tokens. It stays for ever, also when the tenant is deleted.',
    },
  },
} as const;
