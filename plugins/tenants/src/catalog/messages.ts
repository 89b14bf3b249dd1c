/** Texts on the catalog's own pages. */
export const catalogMessages = {
  origin: {
    label: 'Origin',
    all: 'all',
    own: 'Own',
    shared: 'Shared by others',
  },
  copy: {
    title: 'Shared by {{tenant}}',
    text: 'This is a read-only copy. It changes with the original.',
  },
} as const;
