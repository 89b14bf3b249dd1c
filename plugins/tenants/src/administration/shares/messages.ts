/** Texts of what tenants share. */
export const sharesMessages = {
  title: 'Shares',
  explanation:
    'Other tenants get read-only copies of what this tenant shares. What they have themselves under the same name stays as it is, and its copy is left out.',
  failed: 'The shares could not be loaded',
  given: {
    title: 'Shared with others',
    none: 'This tenant shares nothing yet.',
    all: 'All tenants',
    columns: {
      filter: 'Entities',
      targets: 'Tenants',
      copies: 'Copies',
      actions: 'Actions',
    },
  },
  received: {
    title: 'Received from others',
    none: 'Nothing is shared with this tenant. Copies of what another tenant shares will be listed here.',
    columns: { from: 'From', copies: 'Copies' },
  },
  conflicts_one: '{{count}} left out',
  conflicts_other: '{{count}} left out',
  create: {
    open: 'Share entities',
    title: 'Share entities',
    text: 'Relations to entities that are not shared are left out of the copies.',
    filter: 'Entities',
    filterHint:
      'As a filter of the catalog, such as kind=template or kind=api,spec.type=openapi. Several are separated by semicolons.',
    targets: 'Tenants',
    targetsHint: 'Slugs, separated by commas, or all.',
    owner: 'Owner of the copies',
    ownerHint:
      'For copies whose own owner is not shared, such as group:default/platform.',
    submit: 'Share',
    failed: 'Not shared',
    done: 'The entities are shared.',
  },
  end: {
    action: 'End the share of {{filter}}',
    title: 'End this share?',
    text: 'The tenants lose the copies of {{filter}} within seconds.',
    submit: 'End the share',
    failed: 'Not ended',
    done: 'The share has ended.',
  },
} as const;
