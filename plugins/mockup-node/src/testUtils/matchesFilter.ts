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
  if ('owner' in filter) {
    return filter.owner.includes(mockup.owner);
  }
  const { sharedWith, access } = filter;
  return (mockup.shares ?? []).some(
    share =>
      sharedWith.includes(share.group) &&
      (access === 'read' || share.access === 'write'),
  );
}
