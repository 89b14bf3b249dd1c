import { createTranslationRef } from '@backstage/frontend-plugin-api';
import { listMessages } from './administration/list/messages';
import { administrationMessages } from './administration/messages';
import { membersMessages } from './administration/members/messages';
import { sourcesMessages } from './administration/sources/messages';
import { tenantMessages } from './administration/tenant/messages';
import { openTenantMessages } from './openTenant/messages';

/**
 * The texts of the plugin, to be translated.
 *
 * @public
 */
export const tenantsTranslationRef = createTranslationRef({
  id: 'tenants',
  messages: {
    administration: administrationMessages,
    list: listMessages,
    members: membersMessages,
    openTenant: openTenantMessages,
    sources: sourcesMessages,
    tenant: tenantMessages,
  },
});
