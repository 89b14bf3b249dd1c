import type { RequestHandler } from 'express';
import { headerValues } from '../resolution/hostnames';

const HEADER = 'X-Tenant-Slug';
const PREFIX = /^\/\.tenant\/([^/?]+)(?=\/)/;
/** The route at which Backstage sets a user's cookie, for all tenants and before any gate. */
const COOKIE = '.backstage/auth/v1/cookie';

/**
 * Reads the tenant from a path such as `/.tenant/acme/static/…` like the header
 * `X-Tenant-Slug`, for requests that cannot have headers, such as images in a document. If both
 * name a tenant, they must be equal.
 */
export const tenantOfPath: RequestHandler = (req, res, next) => {
  const [prefix, slug] = PREFIX.exec(req.url) ?? [];
  if (prefix && req.path === `${prefix}/${COOKIE}`) {
    // A relative URL, which works behind a proxy with a path prefix.
    res.redirect(307, `../../../../../${COOKIE}`);
    return;
  }
  if (prefix && slug) {
    // Two different headers are refused as an invalid slug.
    if (headerValues(req, HEADER.toLowerCase()).join() !== slug) {
      req.rawHeaders.push(HEADER, slug);
    }
    req.url = req.url.slice(prefix.length);
  }
  next();
};
