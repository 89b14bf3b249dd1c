import type {
  BackstageCredentials,
  BackstageServicePrincipal,
  BackstageUserPrincipal,
  HttpAuthService,
} from '@backstage/backend-plugin-api';
import type { Request } from 'express';

/** The credentials of a user. */
export type UserCredentials = BackstageCredentials<BackstageUserPrincipal>;

/** The credentials of a request, if it has any. */
export type Credentials =
  | UserCredentials
  | BackstageCredentials<BackstageServicePrincipal>;

/** Whether they are those of a user, or of a plugin on behalf of one. */
export function areOfUser(
  credentials: Credentials,
): credentials is UserCredentials {
  return credentials.principal.type === 'user';
}

/**
 * The credentials in the header `Authorization`. Those that are not valid count as
 * none: where Backstage asks for credentials it has refused them already, with 401, so
 * that they are in a request to a route that asks for none.
 */
export async function bearerCredentials(
  req: Request,
  httpAuth: HttpAuthService,
): Promise<Credentials | undefined> {
  return valid(() => httpAuth.credentials(req, { allow: ['user', 'service'] }));
}

/** The same, or else those of the cookie that browsers load images and pages with. */
export async function bearerOrCookieCredentials(
  req: Request,
  httpAuth: HttpAuthService,
): Promise<Credentials | undefined> {
  return (
    (await bearerCredentials(req, httpAuth)) ??
    (await valid(() =>
      httpAuth.credentials(req, {
        allow: ['user', 'service'],
        allowLimitedAccess: true,
      }),
    ))
  );
}

async function valid(
  read: () => Promise<
    BackstageCredentials<BackstageUserPrincipal | BackstageServicePrincipal>
  >,
): Promise<Credentials | undefined> {
  try {
    return (await read()) as Credentials;
  } catch (error) {
    if (error instanceof Error && error.name === 'AuthenticationError') {
      return undefined;
    }
    // Such as that of a token's tenant, which can't be looked up at the moment.
    throw error;
  }
}
