/** A part of an address that people would choose for a name; empty without letters for one. */
export function slugOf(name: string, most: number): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, most)
    .replace(/-$/, '');
}
