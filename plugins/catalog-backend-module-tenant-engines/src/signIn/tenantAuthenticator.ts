import {
  InputError,
  NotAllowedError,
  ServiceUnavailableError,
  toError,
} from '@backstage/errors';
import {
  createOAuthAuthenticator,
  decodeOAuthState,
  type OAuthAuthenticatorResult,
  type OAuthState,
} from '@backstage/plugin-auth-node';
import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import type { Request } from 'express';
import { createHash } from 'node:crypto';
import { type BaseClient, errors, type TokenSet } from 'openid-client';
import { describeFailure } from '../engine/failures';
import { UnlistedHostError } from '../reach/UnlistedHostError';
import { type Claims, type Person, personOf } from './claims';
import { flowSecretsOf } from './flowSecrets';
import type { TenantClient, TenantClients } from './TenantClients';

const SCOPES = ['openid', 'profile', 'email'];

/** Errors of this package, which say what a person or the admin of a tenant can do. */
const TOLD = ['InputError', 'NotAllowedError', 'NotFoundError'];

/** The person who signs in or refreshes a session. */
export interface SignedIn {
  tenant: ActiveTenant;
  provider: PutTenantSignIn;
  person: Person;
  /** Whether a session is refreshed, which adds no member. */
  isRefresh: boolean;
}

/** The state of an attempt, with the tenant that it is for. */
type TenantState = OAuthState & { tenant?: string };

/** Puts the tenant that the request names into the state of the attempt. */
export async function withTenantOf(
  state: OAuthState,
  { req }: { req: Request },
): Promise<{ state: OAuthState }> {
  return { state: { ...state, tenant: tenantOf(req) } as TenantState };
}

/**
 * Signs people in by the OpenID provider of the tenant that the request names.
 *
 * Each tenant has a redirect URL of its own: a provider that leads a browser on to that of another
 * tenant could otherwise get the code that this one gave (RFC 9700, 4.4).
 */
export function tenantAuthenticator(options: {
  clients: TenantClients;
  key: string;
  logger: LoggerService;
}) {
  const { clients, key, logger } = options;

  /** Callers need no credentials: the addresses in an error of a provider are for the log alone. */
  const use: TenantClients['use'] = async (tenantSlug, work) => {
    try {
      return await clients.use(tenantSlug, work);
    } catch (error) {
      if (
        TOLD.includes(toError(error).name) &&
        !(error instanceof UnlistedHostError)
      ) {
        throw error;
      }
      logger.warn(
        `The sign-in provider of a tenant has failed: ${describeFailure(
          error,
        )}`,
        { tenant: tenantSlug },
      );
      const code = error instanceof errors.OPError ? error.error : undefined;
      // Whoever leads a browser to the portal can write anything there.
      throw code !== undefined && /^[a-z_]+$/.test(code)
        ? new NotAllowedError(`The provider of this tenant answers: ${code}`)
        : new ServiceUnavailableError(
            "The provider of this tenant can't be used at the moment. Try again later",
          );
    }
  };

  return createOAuthAuthenticator<{ callbackUrl: string }, SignedIn>({
    scopes: { transform: () => SCOPES },

    defaultProfileTransform: async ({ fullProfile: { person } }) => ({
      profile: { displayName: person.displayName, email: person.email },
    }),

    initialize: ({ callbackUrl }) => ({ callbackUrl }),

    async start({ state: encoded }, { callbackUrl }) {
      const state: TenantState = decodeOAuthState(encoded);
      return use(state.tenant ?? '', async opened => {
        const { nonce, codeVerifier } = secretsOf(opened, state);
        const url = opened.client.authorizationUrl({
          redirect_uri: redirectUrl(callbackUrl, opened.tenant),
          scope: [...SCOPES, ...(opened.provider.scopes ?? [])].join(' '),
          state: encoded,
          nonce,
          code_challenge: createHash('sha256')
            .update(codeVerifier)
            .digest('base64url'),
          code_challenge_method: 'S256',
        });
        return { url };
      });
    },

    async authenticate({ req }, { callbackUrl }) {
      // Backstage has compared its nonce with the cookie of the browser.
      const encoded = String(req.query.state);
      const state: TenantState = decodeOAuthState(encoded);
      const tenant = tenantOf(req);
      if (tenant !== state.tenant) {
        throw new NotAllowedError('The answer is for another tenant');
      }
      return use(tenant, async opened => {
        const { nonce, codeVerifier } = secretsOf(opened, state);
        const tokens = await opened.client.callback(
          redirectUrl(callbackUrl, opened.tenant),
          opened.client.callbackParams(req),
          {
            state: encoded,
            nonce,
            code_verifier: codeVerifier,
            response_type: 'code',
          },
        );
        return resultOf(opened, tokens);
      });
    },

    async refresh({ req, refreshToken }) {
      return use(tenantOf(req), async opened => {
        const session = unseal(opened, refreshToken);
        if (!session) {
          throw new NotAllowedError('The session is of another provider');
        }
        const tokens = await opened.client.refresh(session.token);
        tokens.refresh_token ??= session.token;
        return resultOf(opened, tokens, session);
      });
    },

    // The cookie is deleted also after an error.
    async logout({ req, refreshToken }) {
      try {
        await clients.use(tenantOf(req), async opened => {
          const session = refreshToken && unseal(opened, refreshToken);
          if (session) {
            await opened.client.revoke(session.token);
          }
        });
      } catch (error) {
        logger.debug(`A session was not revoked at its provider: ${error}`);
      }
    },
  });

  function secretsOf(
    { tenant, provider }: TenantClient,
    { nonce }: TenantState,
  ) {
    return flowSecretsOf(key, {
      browserNonce: nonce,
      tenantId: tenant.tenantId,
      issuer: provider.issuer,
    });
  }
}

/** @param session - that is refreshed, which stays that of one person */
async function resultOf(
  { tenant, provider, client }: TenantClient,
  tokens: TokenSet,
  session?: Session,
): Promise<OAuthAuthenticatorResult<SignedIn>> {
  const claims = await claimsOf(client, tokens);
  const sub = String(claims.sub);
  if (session && session.sub !== sub) {
    throw new NotAllowedError('The session is of another person');
  }
  return {
    fullProfile: {
      tenant,
      provider,
      person: personOf(provider, claims),
      isRefresh: session !== undefined,
    },
    session: {
      // Tokens of the provider stay here: no page needs them.
      accessToken: '',
      tokenType: 'bearer',
      scope: SCOPES.join(' '),
      refreshToken:
        tokens.refresh_token &&
        seal({ tenant, provider }, { sub, token: tokens.refresh_token }),
    },
  };
}

/** Those of the ID token, and of the endpoint where there is one: for the same subject alone. */
async function claimsOf(client: BaseClient, tokens: TokenSet): Promise<Claims> {
  const ofToken = tokens.id_token ? tokens.claims() : {};
  return client.issuer.metadata.userinfo_endpoint
    ? { ...ofToken, ...(await client.userinfo(tokens)) }
    : ofToken;
}

/** The one tenant that the query names. */
function tenantOf(req: Request): string {
  const { tenant } = req.query;
  if (typeof tenant !== 'string' || tenant === '') {
    throw new InputError('The query has to name one tenant');
  }
  return tenant;
}

function redirectUrl(
  callbackUrl: string,
  { tenantSlug }: ActiveTenant,
): string {
  return `${callbackUrl}?tenant=${tenantSlug}`;
}

type Sealed = Pick<TenantClient, 'tenant' | 'provider'>;

/** What lasts at the provider. */
interface Session {
  /** The person, as the provider names each. */
  sub: string;
  /** The refresh token. */
  token: string;
}

/** A session, with whose it is: its token goes to no other provider. */
function seal({ tenant, provider }: Sealed, { sub, token }: Session): string {
  const { issuer, client_id } = provider;
  return Buffer.from(
    JSON.stringify([tenant.tenantId, issuer, client_id, sub, token]),
  ).toString('base64url');
}

function unseal(sealed: Sealed, cookie: string): Session | undefined {
  try {
    const [sub, token] = JSON.parse(
      Buffer.from(cookie, 'base64url').toString('utf8'),
    ).slice(-2);
    const session = { sub, token };
    return typeof token === 'string' && seal(sealed, session) === cookie
      ? session
      : undefined;
  } catch {
    return undefined;
  }
}
