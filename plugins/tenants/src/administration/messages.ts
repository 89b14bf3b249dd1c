/** Texts that all pages of the administration share. */
export const administrationMessages = {
  refresh: 'Refresh',
  errors_one: '{{count}} error in its sources',
  errors_other: '{{count}} errors in its sources',
  state: {
    deleted: 'Deleted',
    catalog_plugin: 'Fed by the catalog of the backend',
    paused: 'Engine is paused',
    unassigned: 'Engine waits for a process',
    stopped: 'Engine is stopped',
    starting: 'Engine is starting',
    running: 'Engine is running',
    failed: 'Engine has failed',
    unknown: 'Engine of another backend',
  },
} as const;
