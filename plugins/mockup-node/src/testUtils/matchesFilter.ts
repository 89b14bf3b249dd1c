import type { Mockup } from 'backstage-plugin-mockup-common';
import type { MockupFilter } from 'backstage-plugin-mockup-node';

export function matchesFilter(mockup: Mockup, filter: MockupFilter): boolean {
  if ('allOf' in filter) {
    return filter.allOf.every(part => matchesFilter(mockup, part));
  }
  if ('anyOf' in filter) {
    return filter.anyOf.some(part => matchesFilter(mockup, part));
  }
  if ('not' in filter) {
    return !matchesFilter(mockup, filter.not);
  }
  if ('id' in filter) {
    return filter.id.includes(mockup.id);
  }
  return filter.owner.includes(mockup.owner);
}
