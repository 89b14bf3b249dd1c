import { parseEntityRef, stringifyEntityRef } from '@backstage/catalog-model';
import type { Picked } from '@internal/pages';
import { groupRefSchema } from 'backstage-plugin-mockup-common';

/** What the user has typed for a group. */
type TypedGroup =
  | { group: string }
  | { problem: 'missing' | 'invalid' | 'otherKind' };

/**
 * Reads a reference as people write it: without the kind, or without the namespace. A name alone
 * is none: it may be a part of another one, which was to be searched.
 */
export function parseGroup(text: string): TypedGroup {
  if (text.trim() === '') {
    return { problem: 'missing' };
  }
  if (!/[:/]/.test(text)) {
    return { problem: 'invalid' };
  }
  let group: string;
  try {
    const parsed = parseEntityRef(text.trim(), {
      defaultKind: 'group',
      defaultNamespace: 'default',
    });
    group = stringifyEntityRef(parsed);
  } catch {
    return { problem: 'invalid' };
  }
  if (!group.startsWith('group:')) {
    return { problem: 'otherKind' };
  }
  return groupRefSchema.safeParse(group).success
    ? { group }
    : { problem: 'invalid' };
}

/** The group in a field: the one that was picked, or what was typed. */
export function groupIn({ id, text }: Picked): TypedGroup {
  return id === undefined ? parseGroup(text) : { group: id };
}

/** A reference of a group, as short as people would write it. */
export function shortName(group: string): string {
  return group.replace(/^group:(default\/)?/, '');
}
