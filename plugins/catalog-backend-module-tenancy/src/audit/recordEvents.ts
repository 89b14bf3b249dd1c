import type {
  AuditorService,
  AuditorServiceEvent,
} from '@backstage/backend-plugin-api';
import {
  ADMIN_EVENT,
  type AuditConfig,
  auditedTenantOf,
  type BegunAuditEvent,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  setAuditRecord,
  type TenantAuditRecord,
  type TenantAuditStatement,
  type TenantAuditTrail,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { Credentials } from '../gate/Admission';

type EventOptions = Parameters<AuditorService['createEvent']>[0];

const SEVERITIES = ['low', 'medium', 'high', 'critical'];

type TenantOfEvent = Pick<BegunAuditEvent, 'tenantSlug' | 'tenantId'>;

/** The plugin whose events concern the tenant in `meta.slug` instead of the request's tenant. */
const REGISTRY = 'tenants';

interface RecordedPlugin {
  pluginId: string;
  /** Whether the plugin has no data of tenants. */
  isShared: boolean;
  minSeverity: AuditConfig['minSeverity'];
  trail: Pick<TenantAuditTrail, 'begin'>;
  /** Undefined for a request without credentials. */
  credentialsOf(request: Request): Promise<Credentials | undefined>;
}

/**
 * Also records the audit events of a plugin in the trail of their tenant. The auditor itself
 * works as before.
 *
 * An event is queued when the operation begins. `success` and `fail`, which plugins await
 * before they answer, resolve once the outcome is stored: every answered operation is in the
 * trail.
 *
 * Replaces a method of the plugin's own auditor instance, as `carryTenants` does with the auth
 * service: a factory would replace the operator's.
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
    const begin = async (tenant: TenantOfEvent) =>
      plugin.trail.begin(await describe(tenant, options, plugin));
    const known = tenantFor(options, plugin);
    let record = known && (await begin(known));
    const recorded: AuditorServiceEvent = {
      success: async params => {
        // The slug of a created tenant may be known only now.
        if (!record && plugin.pluginId === REGISTRY) {
          const late = tenantIn(params?.meta);
          record = late && (await begin(late));
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
    } else if (plugin.pluginId === REGISTRY) {
      setAuditRecord(recorded, {
        end: async ended => record?.end(ended),
        storeWith: metaOf =>
          storeLate(metaOf, async tenantSlug => {
            record = await begin({ tenantSlug });
            return record;
          }),
      });
    }
    return recorded;
  };
}

/**
 * The statement of a change whose tenant is known only when it is made: one that is created, or
 * that of an invitation.
 */
function storeLate(
  metaOf: Parameters<TenantAuditRecord['storeWith']>[0],
  begin: (tenantSlug: string) => Promise<TenantAuditRecord>,
): TenantAuditStatement {
  let tenant: Parameters<TenantAuditStatement['onTenant']>[0] | undefined;
  let statement: TenantAuditStatement | undefined;
  return {
    onTenant: found => {
      tenant = found;
    },
    async build() {
      if (tenant && !statement) {
        statement = (await begin(tenant.tenant_slug)).storeWith(metaOf);
        statement.onTenant(tenant);
      }
      return statement?.build();
    },
    onCommitted: rows => statement?.onCommitted(rows),
  };
}

function isRecorded(
  { eventId, severityLevel = 'low' }: EventOptions,
  { minSeverity }: RecordedPlugin,
): boolean {
  return (
    // Part of an operation with its own event.
    eventId !== ADMIN_EVENT &&
    SEVERITIES.indexOf(severityLevel) >= SEVERITIES.indexOf(minSeverity)
  );
}

/** The tenant of an event, as far as it is known when the operation begins. */
function tenantFor(
  options: EventOptions,
  { pluginId, isShared }: RecordedPlugin,
): TenantOfEvent | undefined {
  if (pluginId === REGISTRY) {
    return tenantIn(options.meta);
  }
  const named = auditedTenantOf(options);
  if (named || isShared) {
    return named;
  }
  // The backend's own instance of a plugin belongs to the default tenant.
  return options.request
    ? tenantOf(options.request)
    : { tenantSlug: DEFAULT_TENANT_SLUG, tenantId: DEFAULT_TENANT_ID };
}

function tenantIn(meta: EventOptions['meta']): TenantOfEvent | undefined {
  const slug = meta?.slug;
  return typeof slug === 'string' && isTenantSlug(slug)
    ? { tenantSlug: slug }
    : undefined;
}

async function describe(
  { tenantSlug, tenantId }: TenantOfEvent,
  { eventId, meta = {}, request, severityLevel = 'low' }: EventOptions,
  { credentialsOf, pluginId }: RecordedPlugin,
): Promise<BegunAuditEvent> {
  const credentials = request && (await credentialsOf(request));
  return {
    tenantSlug,
    tenantId,
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
