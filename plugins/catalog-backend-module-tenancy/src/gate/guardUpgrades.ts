import type {
  HttpRouterService,
  HttpRouterServiceWebSocketContext,
} from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  type TenantPlugins,
  type TenantUpgradeHandler,
  tenantOf,
  withTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import express, { type ErrorRequestHandler, type Request } from 'express';
import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { OpenSockets } from './OpenSockets';
import type { PluginGate } from './PluginGate';

/**
 * If neither host nor origin names the tenant, a page names it in an additional protocol or in
 * the URL, because browsers cannot set headers of a WebSocket.
 */
const TENANT_PROTOCOL = /^tenant\.(.*)$/;
const TENANT_PARAMETER = 'tenant';

interface Upgrade {
  /** Passes the connection to the plugin, or an error to `next`. */
  pass: (
    tenant: ActiveTenant | undefined,
    next: (error: unknown) => void,
  ) => void;
}

/**
 * Applies the gate to the WebSockets of a plugin, which Backstage (since 1.57) routes past all
 * HTTP middleware after authenticating the caller.
 *
 * Replaces a method of the service instance, as `carryTenants` does. The gate is created before
 * the plugin and its modules start, so none of them gets the original method.
 */
export function guardUpgrades(options: {
  gate: PluginGate;
  httpRouter: HttpRouterService;
  /** The error handler of the plugin's HTTP routes. */
  onError: ErrorRequestHandler;
  pluginId: string;
  sockets: OpenSockets;
  /** The value for Express' setting `trust proxy`. */
  trustProxy: unknown;
  /** Finds handlers in tenants' instances of the plugin, if it has any. */
  upgrades: ReturnType<TenantPlugins['upgradesOf']>;
}): void {
  const { gate, httpRouter, pluginId, sockets, trustProxy } = options;
  if (typeof httpRouter.addWebSocketHandler !== 'function') {
    return;
  }
  const add = httpRouter.addWebSocketHandler.bind(httpRouter);
  const underWay = new WeakMap<object, Upgrade>();
  const app = express().disable('x-powered-by').disable('etag');
  if (trustProxy !== undefined) {
    app.set('trust proxy', trustProxy);
  }
  const path = `/api/${pluginId}`;
  app.use(
    path,
    gate.createRouter((req, _res, next) =>
      underWay.get(req)!.pass(tenantOf(req), next),
    ),
    // Without a tenant: a shared plugin and a caller without credentials.
    (req, _res, next) => underWay.get(req)!.pass(undefined, next),
  );
  // Mounted at the path, so that errors name the path below the plugin's, as for HTTP requests.
  app.use(path, options.onError);

  /** The handler of a connection: the plugin's own, or that of the tenant's instance. */
  const findHandler = async (
    own: TenantUpgradeHandler,
    route: string,
    tenant?: ActiveTenant,
  ): Promise<TenantUpgradeHandler> => {
    if (!tenant || tenant.tenantId === DEFAULT_TENANT_ID) {
      return own;
    }
    if (pluginId === 'catalog') {
      // Engines of tenants have no WebSockets.
      throw new NotAllowedError(
        `The WebSocket ${route} is not available to the tenant '${tenant.tenantSlug}'`,
      );
    }
    return options.upgrades ? options.upgrades(tenant, route) : own;
  };

  httpRouter.addWebSocketHandler = ({ handler: own, ...route }) =>
    add({
      ...route,
      handler: context =>
        new Promise((resolve, reject) => {
          const { socket } = context;
          const req = requestOf(context);
          underWay.set(req, {
            pass(tenant, next) {
              findHandler(own, route.path, tenant)
                .then(async handler => {
                  if (socket.destroyed) {
                    return;
                  }
                  if (tenant) {
                    const mayStay = () => gate.stillAdmits(req, tenant);
                    sockets.add({ socket, tenant, mayStay });
                  }
                  // For a tenant-aware plugin, this runs in the asynchronous context of the
                  // tenant.
                  await handler(carrying(tenant, context));
                }, next)
                .then(resolve, reject);
            },
          });
          app(req, answerOn(socket, req, resolve));
        }),
    });
}

/**
 * A copy of the request for the gate. The plugin's handler gets the original, which Express has
 * not modified.
 */
function requestOf(context: HttpRouterServiceWebSocketContext): Request {
  const { request, authProtocol } = context;
  const protocols = request.headers['sec-websocket-protocol'] ?? '';
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const slugs = [
    ...protocols
      .split(',')
      .flatMap(protocol => TENANT_PROTOCOL.exec(protocol.trim())?.[1] ?? []),
    ...searchParams.getAll(TENANT_PARAMETER),
  ];
  const req = new IncomingMessage(request.socket as Socket);
  req.method = request.method;
  req.url = request.url;
  req.headers = {
    ...request.headers,
    // The token that a browser sends as a protocol.
    ...(authProtocol !== undefined && {
      authorization: `Bearer ${authProtocol}`,
    }),
  };
  req.rawHeaders = [
    ...request.rawHeaders,
    ...slugs.flatMap(slug => ['X-Tenant-Slug', slug]),
  ];
  return req as Request;
}

/** Creates a response that writes to the upgraded socket and closes it. */
function answerOn(
  socket: Duplex,
  req: Request,
  onEnd: () => void,
): express.Response {
  const response = new ServerResponse(req);
  socket.once('close', () => response.emit('close'));
  const end = (body: string | Buffer = '') => {
    const { statusCode } = response;
    const headers = Object.entries(response.getHeaders()).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const head = [
      `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
      ...headers,
      'connection: close',
      '\r\n',
    ];
    socket.write(head.join('\r\n'));
    socket.end(body, () => socket.destroy());
    onEnd();
    return response;
  };
  return Object.assign(response, { end }) as unknown as express.Response;
}

function carrying(
  tenant: ActiveTenant | undefined,
  context: HttpRouterServiceWebSocketContext,
): HttpRouterServiceWebSocketContext {
  return tenant && tenant.tenantId !== DEFAULT_TENANT_ID
    ? { ...context, credentials: withTenant(tenant, context.credentials) }
    : context;
}
