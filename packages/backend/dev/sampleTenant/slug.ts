/** The second tenant of a portal in development. */
export const SAMPLE_SLUG = 'acme';
