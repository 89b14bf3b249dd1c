import type {
  AuditorService,
  AuditorServiceEvent,
} from '@backstage/backend-plugin-api';
import {
  ADMIN_EVENT,
  type AuditConfig,
  auditedTenantOf,
  type BegunAuditEvent,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  setAuditRecord,
  type TenantAuditTrail,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { Credentials } from '../gate/Admission';

type EventOptions = Parameters<AuditorService['createEvent']>[0];

const SEVERITIES = ['low', 'medium', 'high', 'critical'];

/** Whose routes are about the tenants that they name in `meta.slug`, not about that of the request. */
const REGISTRY = 'tenants';

interface RecordedPlugin {
  pluginId: string;
  /** Whether it holds nothing of any tenant. */
  isShared: boolean;
  minSeverity: AuditConfig['minSeverity'];
  trail: Pick<TenantAuditTrail, 'begin'>;
  /** Nothing where nobody has signed in. */
  credentialsOf(request: Request): Promise<Credentials | undefined>;
}

/**
 * Has the audit events of a plugin be recorded in the trail of their tenant as well. What the
 * auditor does with them stays as it is.
 *
 * An event has begun to be stored when the operation begins. `success` and `fail`, which a plugin
 * waits for before it answers, resolve once the outcome is stored: what has been answered is in
 * the trail.
 *
 * This changes the auditor of the plugin, which Backstage makes for it alone, as `carryTenants`
 * does with the auth service: another factory would take the place of the operator's.
 */
export function recordEvents(
  auditor: AuditorService,
  plugin: RecordedPlugin,
): void {
  const createEvent = auditor.createEvent.bind(auditor);
  auditor.createEvent = async options => {
    const event = await createEvent(options);
    if (!isRecorded(options, plugin)) {
      return event;
    }
    const begin = async (tenantSlug: string) =>
      plugin.trail.begin(await describe(tenantSlug, options, plugin));
    const slug = slugOf(options, plugin);
    let record = slug ? await begin(slug) : undefined;
    const recorded: AuditorServiceEvent = {
      success: async params => {
        // The registry may learn only now which tenant it has created.
        const late = slugIn(params?.meta);
        if (!record && plugin.pluginId === REGISTRY && late) {
          record = await begin(late);
        }
        await Promise.all([
          event.success(params),
          record?.end({ outcome: 'succeeded', meta: params?.meta }),
        ]);
      },
      fail: async params => {
        await Promise.all([
          event.fail(params),
          record?.end({ outcome: 'failed', ...params }),
        ]);
      },
    };
    if (record) {
      setAuditRecord(recorded, record);
    }
    return recorded;
  };
}

function isRecorded(
  { eventId, severityLevel = 'low' }: EventOptions,
  { minSeverity }: RecordedPlugin,
): boolean {
  return (
    // A part of an operation that has an event of its own.
    eventId !== ADMIN_EVENT &&
    SEVERITIES.indexOf(severityLevel) >= SEVERITIES.indexOf(minSeverity)
  );
}

/** The tenant of an event, as far as it is known when the operation begins. */
function slugOf(
  options: EventOptions,
  { pluginId, isShared }: RecordedPlugin,
): string | undefined {
  if (pluginId === REGISTRY) {
    return slugIn(options.meta);
  }
  const named = auditedTenantOf(options);
  if (named) {
    return named.tenantSlug;
  }
  if (isShared) {
    return undefined;
  }
  // The plugin itself, beside the instances of it, is the default tenant's.
  return options.request
    ? tenantOf(options.request).tenantSlug
    : DEFAULT_TENANT_SLUG;
}

function slugIn(meta: EventOptions['meta']): string | undefined {
  const slug = meta?.slug;
  return typeof slug === 'string' && isTenantSlug(slug) ? slug : undefined;
}

async function describe(
  tenantSlug: string,
  { eventId, meta = {}, request, severityLevel = 'low' }: EventOptions,
  { credentialsOf, pluginId }: RecordedPlugin,
): Promise<BegunAuditEvent> {
  const credentials = request && (await credentialsOf(request));
  return {
    tenantSlug,
    plugin: pluginId,
    event: eventId,
    severity: severityLevel,
    actor: request ? nameOf(credentials) : `plugin:${pluginId}`,
    ip: request?.ip ?? null,
    userAgent: request?.get('user-agent') ?? null,
    method: request?.method ?? null,
    path: request?.originalUrl.split('?', 1)[0] ?? null,
    meta,
  };
}

function nameOf(credentials: Credentials | undefined): string | null {
  const { principal } = credentials ?? {};
  if (!principal) {
    return null;
  }
  return principal.type === 'user'
    ? principal.userEntityRef
    : principal.subject;
}
