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
 * How a page names its tenant where neither its host nor its origin does: as one more protocol
 * that it offers, or in the address, since browsers let no page set headers of a WebSocket.
 */
const TENANT_PROTOCOL = /^tenant\.(.*)$/;
const TENANT_PARAMETER = 'tenant';

interface Upgrade {
  /** Hands the connection to the plugin, or its request to the error handlers. */
  pass: (
    tenant: ActiveTenant | undefined,
    next: (error: unknown) => void,
  ) => void;
}

/**
 * Puts the gate in front of the WebSockets of a plugin, which Backstage (since 1.57) routes past
 * all middleware of HTTP. It has authenticated the caller by then.
 *
 * The gate is made before the plugin and its modules start, so that none of them gets the
 * method that this replaces. It is replaced on the service itself, as in `carryTenants`.
 */
export function guardUpgrades(options: {
  gate: PluginGate;
  httpRouter: HttpRouterService;
  /** Answers as the plugin does to a request that fails. */
  onError: ErrorRequestHandler;
  pluginId: string;
  sockets: OpenSockets;
  /** As Express takes it. */
  trustProxy: unknown;
  /** Of a plugin of which tenants have instances. */
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
    // It belongs to no tenant: a plugin that is shared, and a caller without credentials.
    (req, _res, next) => underWay.get(req)!.pass(undefined, next),
  );
  // It tells of the path below that of the plugin, as for requests.
  app.use(path, options.onError);

  /** What takes over a connection: of a tenant's own, where the plugin is the default tenant's. */
  const findHandler = async (
    own: TenantUpgradeHandler,
    route: string,
    tenant?: ActiveTenant,
  ): Promise<TenantUpgradeHandler> => {
    if (!tenant || tenant.tenantId === DEFAULT_TENANT_ID) {
      return own;
    }
    if (pluginId === 'catalog') {
      // Requests of tenants go to engines behind this gate.
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
                  // Of a tenant-aware plugin in the asynchronous context of the tenant.
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
 * The request as the gate sees it. The handler of the plugin gets the one that arrived, without
 * what Express makes of it.
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
    // The token, as a browser sends it.
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

/** Writes an answer to a socket that is no longer one of the HTTP server, and closes it. */
function answerOn(
  socket: Duplex,
  req: Request,
  onEnd: () => void,
): express.Response {
  const response = new ServerResponse(req);
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
