const LINKS = ['http:', 'https:', 'mailto:', 'tel:'];
const IMAGES = ['http:', 'https:', 'data:', 'blob:'];

/**
 * The address of a link or an image of a mockup, where it is one that cannot run code. It is
 * read as browsers do, which skip control characters: ` java\nscript:` is a script to them.
 *
 * What is read is what is returned, since others may trim more than browsers do.
 */
export function safeAddress(
  address: string,
  of: 'link' | 'image',
): string | undefined {
  let url: URL;
  try {
    url = new URL(address, window.location.href);
  } catch {
    return undefined;
  }
  const isAllowed = (of === 'link' ? LINKS : IMAGES).includes(url.protocol);
  const isOtherData =
    url.protocol === 'data:' && !/^data:image\//i.test(url.href);
  if (!isAllowed || isOtherData) {
    return undefined;
  }
  const isOfPortal =
    url.origin === window.location.origin && url.protocol !== 'blob:';
  // A path that begins so would be a host.
  return isOfPortal && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}${url.hash}`
    : url.href;
}

/** Whether a link leads out of the portal. */
export function isElsewhere(address: string): boolean {
  return (
    new URL(address, window.location.href).origin !== window.location.origin
  );
}
