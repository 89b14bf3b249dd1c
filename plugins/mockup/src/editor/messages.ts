/** Texts of the editor. */
export const editorMessages = {
  missing: 'There is no such mockup, or you may not see it.',
} as const;
