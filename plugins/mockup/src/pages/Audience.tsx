import { useTranslationRef } from '@backstage/frontend-plugin-api';
import type { PageAudience } from 'backstage-plugin-mockup-common';
import { Person } from '../components/Person';
import { mockupTranslationRef } from '../translation';

/** Whether an audience is a group. */
export function isGroup(audience: PageAudience): audience is `group:${string}` {
  return audience.startsWith('group:');
}

/** The name of the text that says for whom a page is, where that is no group. */
export function textOf(
  audience: Exclude<PageAudience, `group:${string}`>,
): 'everybody' | 'viewer' | 'member' | 'admin' {
  // A colon divides what a text is called from where it is.
  return audience.replace('role:', '') as ReturnType<typeof textOf>;
}

/** For whom a page is, in words. */
export function Audience({ of }: { of: PageAudience }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return isGroup(of) ? (
    <Person entityRef={of} />
  ) : (
    <>{t(`pages.audience.${textOf(of)}`)}</>
  );
}
