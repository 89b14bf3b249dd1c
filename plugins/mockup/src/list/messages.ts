/** Texts of the list of mockups and of the trash. */
export const listMessages = {
  title: 'Mockups',
  empty: 'There are no mockups yet. Create one to lay out a page.',
  noneOfYou: 'You own no mockups.',
  failed: 'The mockups could not be read',
  found_one: '{{count}} mockup',
  found_other: '{{count}} mockups',
  noMatch: 'Nothing has “{{search}}” in its name or description.',
  clear: 'Clear the search',
  beyond: 'The list ends before this page.',
  first: 'First page',
  search: {
    label: 'Search',
    placeholder: 'A part of the name or description',
  },
  of: { label: 'Owner', all: 'All', mine: 'Mine' },
  order: {
    label: 'Sort by',
    'updatedAt,desc': 'Last changed',
    'createdAt,desc': 'Newest',
    'name,asc': 'Name, A to Z',
    'name,desc': 'Name, Z to A',
  },
  page: {
    label: 'Pages',
    shown: '{{from}} to {{to}} of {{total}}',
    previous: 'Previous page',
    next: 'Next page',
  },
  create: {
    open: 'Create mockup',
    refused: 'You may not create mockups.',
  },
  actions: {
    label: 'Actions of {{name}}',
    edit: 'Name and description',
    duplicate: 'Duplicate',
    export: 'Export as a file',
    refused: 'you may not',
  },
  done: {
    duplicated: '“{{name}}” is there.',
    imported: 'The file was imported. Mockups in it: {{mockups}}.',
  },
  more: {
    label: 'More actions',
    import: 'Import a file',
    export: 'Export all as a file',
  },
  failedTo: {
    export: 'The file was not made',
  },
  import: {
    title: 'Import mockups',
    text: 'A file that was exported here or from another portal. Its mockups become new ones, which you own. If a mistake is in the file, nothing of it is imported.',
    file: 'File',
    missing: 'Choose a file.',
    submit: 'Import',
    failed: 'Nothing was imported',
  },
  duplicate: {
    title: 'Duplicate “{{name}}”',
    text: 'You own the copy. What happens to one of them does not happen to the other.',
    name: '{{name}} (copy)',
    withHistory: 'With all versions, and not with the newest layout alone',
    submit: 'Duplicate',
    failed: 'The mockup was not duplicated',
  },
  details: {
    create: {
      title: 'Create a mockup',
      submit: 'Create',
      failed: 'The mockup was not created',
    },
    edit: {
      title: 'Name and description',
      submit: 'Save',
      failed: 'The mockup was not changed',
    },
    name: {
      label: 'Name',
      missing: 'Give the mockup a name.',
      long: 'A name has at most {{most}} characters, and this one {{length}}.',
    },
    description: {
      label: 'Description',
      hint: 'What the page is for.',
      long: 'A description has at most {{most}} characters, and this one {{length}}.',
    },
  },
} as const;
