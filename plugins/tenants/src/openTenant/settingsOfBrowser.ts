const PREFIX = 'backstage-plugin-tenants.settings';

/**
 * Keeps in the browser what users set in a tenant that has no instance of `user-settings`, and
 * answers as that plugin does.
 */
export async function settingsOfBrowser(
  slug: string | undefined,
  request: Request,
): Promise<Response> {
  const nameOf = (bucket: string, key: string) =>
    [PREFIX, slug ?? '', bucket, key].map(encodeURIComponent).join('/');
  const read = (bucket: string, key: string) => {
    const text = window.localStorage.getItem(nameOf(bucket, key));
    return text === null ? null : { bucket, key, value: JSON.parse(text) };
  };
  const { pathname } = new URL(request.url);
  if (pathname.endsWith('/multiget')) {
    const { items } = (await request.json()) as {
      items: { bucket: string; key: string }[];
    };
    return Response.json({
      items: items.map(({ bucket, key }) => read(bucket, key)),
    });
  }
  const [bucket, key] = pathname
    .split('/buckets/')
    .at(-1)!
    .split('/keys/')
    .map(decodeURIComponent);
  switch (request.method) {
    case 'PUT': {
      const { value } = await request.json();
      window.localStorage.setItem(nameOf(bucket, key), JSON.stringify(value));
      break;
    }
    case 'DELETE':
      window.localStorage.removeItem(nameOf(bucket, key));
      return new Response(null, { status: 204 });
    default:
  }
  const found = read(bucket, key);
  return found
    ? Response.json(found)
    : Response.json({ error: { name: 'NotFoundError' } }, { status: 404 });
}
