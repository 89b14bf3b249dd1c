import type { RequestHandler } from 'express';
import { headerValues } from '../resolution/hostnames';

const HEADER = 'X-Tenant-Slug';
const PREFIX = /^\/\.tenant\/([^/?]+)(?=\/)/;
/** Where Backstage gives a user a cookie, for all tenants and before any gate. */
const COOKIE = '.backstage/auth/v1/cookie';

/**
 * Reads the tenant off a path such as `/.tenant/acme/static/…`, as if `X-Tenant-Slug` named it:
 * for what can send no header, such as the images of a document. Where both name a tenant, they
 * have to name the same.
 */
export const tenantOfPath: RequestHandler = (req, res, next) => {
  const [prefix, slug] = PREFIX.exec(req.url) ?? [];
  if (prefix && req.path === `${prefix}/${COOKIE}`) {
    // From its folder up to that of the plugin, whatever a proxy has in front of it.
    res.redirect(307, `../../../../../${COOKIE}`);
    return;
  }
  if (prefix && slug) {
    // Of two headers that differ, neither is a slug.
    if (headerValues(req, HEADER.toLowerCase()).join() !== slug) {
      req.rawHeaders.push(HEADER, slug);
    }
    req.url = req.url.slice(prefix.length);
  }
  next();
};
