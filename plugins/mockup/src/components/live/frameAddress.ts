import type { ConfigApi } from '@backstage/frontend-plugin-api';

/** The hosts that frames on pages may be of, by `mockup.frames.hosts`. */
export function allowedHostsOf(config: ConfigApi): string[] {
  return config.getOptionalStringArray('mockup.frames.hosts') ?? [];
}

/**
 * The address of a frame, where it is one of an allowed host, by https. None is of the portal
 * itself: a page of it in a frame without bounds could do what its user may.
 */
export function frameAddress(
  address: string,
  hosts: readonly string[],
): string | undefined {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return undefined;
  }
  return url.protocol === 'https:' &&
    url.username === '' &&
    url.host !== window.location.host &&
    hosts.includes(url.host)
    ? url.href
    : undefined;
}
