import { createTranslationRef } from '@backstage/frontend-plugin-api';
import { pagesTranslationRef as ofPages } from '@internal/pages';
import { activityMessages } from './administration/activity/messages';
import { listMessages } from './administration/list/messages';
import { administrationMessages } from './administration/messages';
import { membersMessages } from './administration/members/messages';
import { sharesMessages } from './administration/shares/messages';
import { sourcesMessages } from './administration/sources/messages';
import { tenantMessages } from './administration/tenant/messages';
import { catalogMessages } from './catalog/messages';
import { openTenantMessages } from './openTenant/messages';

/**
 * The texts of the plugin, to be translated.
 *
 * @public
 */
export const tenantsTranslationRef = createTranslationRef({
  id: 'tenants',
  messages: {
    activity: activityMessages,
    administration: administrationMessages,
    catalog: catalogMessages,
    list: listMessages,
    members: membersMessages,
    openTenant: openTenantMessages,
    shares: sharesMessages,
    sources: sourcesMessages,
    tenant: tenantMessages,
  },
});

/**
 * The texts that the pages of tenants and of mockups share, to be translated.
 *
 * @public
 */
export const pagesTranslationRef = ofPages;
