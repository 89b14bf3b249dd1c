/** Texts of the versions of a mockup. */
export const historyMessages = {
  missing: 'There is no such version, or you may not see it.',
} as const;
