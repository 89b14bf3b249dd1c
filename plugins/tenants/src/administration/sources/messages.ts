/** Texts of the sources of a tenant's catalog. */
export const sourcesMessages = {
  title: 'Sources of the catalog',
  explanation:
    'What the catalog engine of this tenant reads: locations, providers, and the integrations that these use.',
  failed: 'The sources could not be loaded',
  catalogPlugin: {
    title: 'The catalog plugin of the portal feeds this tenant',
    description:
      'It is the default tenant. The operator configures its sources under catalog and integrations in app-config.',
  },
  operator: {
    title: 'The operator configures this engine',
    description:
      'Its sources are in app-config, under tenancy.tenants.{{slug}}. They are not shown here, and only the operator changes them.',
  },
  errors: {
    next: 'Next try:',
    tryNow: 'Try now',
    trying: 'The engine tries again now.',
    notTried: 'Not tried: {{message}}',
    shown: 'The first {{shown}} errors are shown.',
  },
  locations: {
    title: 'Locations',
    explanation:
      'Files and folders of entities, which the engine reads again and again.',
    none: 'No locations are configured.',
    remove: 'Remove the location {{target}}',
    kinds: 'Kinds: {{kinds}}',
    unreadable:
      'The locations can’t be shown while the YAML below is not valid.',
    add: 'Add a location',
    target: 'URL',
    targetDescription:
      'The address of a catalog-info.yaml, at a host that the operator allows.',
    targetMissing: 'Type the URL of a file.',
    targetTaken: 'This location is already in the list.',
    allow: 'Only these kinds',
    allowDescription:
      'Separated by commas, such as User, Group. Empty: what the rules allow.',
    submit: 'Add',
    bad: 'This location has an error',
    notTried: 'The location could not be tried',
    trying: 'Reading the location…',
    slow: 'The location has not answered yet',
    slowText: 'It may still answer. You can add it without waiting.',
    addAnyway: 'Add anyway',
    addedWith_one:
      '{{target}} has {{count}} entity, and was added. Save to have the engine read it.',
    addedWith_other:
      '{{target}} has {{count}} entities, and was added. Save to have the engine read it.',
    added: '{{target}} was added. Save to have the engine read it.',
    removed: '{{target}} was removed. Save to have the engine forget it.',
  },
  yaml: {
    title: 'Whole configuration',
    label: 'Configuration as YAML',
    description:
      'catalog (locations, providers, rules, processingInterval) and integrations, as in app-config. A secret is a reference, never a value: $' +
      '{NAME} or $file.',
    invalid: 'Line {{line}}: {{message}}',
  },
  save: {
    unsaved: 'Not saved yet',
    slow: 'Saving: the backend has not answered yet',
    saved: 'Saved. The engine restarts with it.',
    submit: 'Save',
    discard: 'Discard changes',
    failed: 'Not saved',
  },
  conflict: {
    title: '{{by}} has changed the configuration since you have read it',
    description:
      'What you typed is still here, and is not saved. This is what they changed:',
    somebody: 'Somebody else',
    overwrite: 'Overwrite theirs with mine',
    takeTheirs: 'Discard mine',
    same: 'Their configuration is what you started from.',
  },
  registered: {
    title: 'Locations that people registered',
    explanation:
      'Members of the tenant register these on its import page. They are not part of the configuration above.',
    none: 'Nobody has registered a location.',
    failed: 'The registered locations could not be loaded',
    engineAway:
      'The registered locations are shown as soon as the catalog engine answers',
    elsewhere:
      'This page is at the hostname of another tenant and can’t ask for those of {{slug}}. Open the administration at {{url}}.',
    remove: 'Remove the registered location {{target}}',
    question: 'Remove this location?',
    meaning:
      'The engine forgets {{target}}, and deletes the entities that come from it alone.',
    confirm: 'Remove',
    notRemoved: 'Not removed',
    removed: '{{target}} was removed.',
  },
} as const;
