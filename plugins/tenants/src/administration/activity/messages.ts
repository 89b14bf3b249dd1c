/** Texts of the audit trail of a tenant. */
export const activityMessages = {
  explanation:
    'Who changed what in this tenant, the newest first. The trail is kept for as long as the portal is configured to.',
  failed: 'The activity could not be loaded',
  actor: 'Who',
  actorHint: 'A part of a name, such as jane',
  event: 'What',
  eventHint: 'A part of an event, such as member',
  outcome: 'Outcome',
  outcomes: {
    all: 'All',
    succeeded: 'Succeeded',
    failed: 'Failed',
    unknown: 'Unknown',
  },
  search: 'Search',
  none: 'Nothing has happened in this tenant yet.',
  noMatch: 'Nothing matches this search.',
  more: 'Show more',
  nobody: 'Nobody had signed in',
  details: 'Details',
  at: 'Time',
  plugin: 'Plugin',
  request: 'Request',
  from: 'From',
  userAgent: 'Browser or program',
  meta: 'More',
} as const;
