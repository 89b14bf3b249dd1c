/** Texts of the tab on the page of an entity. */
export const entityMessages = {
  title: 'Mockups',
  none: 'The annotation {{annotation}} of this entity names no mockup.',
  failed: 'The mockup {{id}} could not be read',
  missing: 'There is no mockup {{id}}, or you may not see it.',
  more: 'The annotation names {{named}} mockups. The first {{shown}} are shown.',
  noPage: 'No page is published at /pages/{{path}} for you.',
} as const;
