import type {
  AuthService,
  DiscoveryService,
} from '@backstage/backend-plugin-api';
import {
  type ActiveTenant,
  DEFAULT_TENANT_ID,
  withTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import { mkdir, writeFile } from 'fs/promises';
import { join } from 'path';

/** What a sample tenant has beside its entities. */
export interface SampleContents {
  /** The component that the document is of. */
  component: string;
  title: string;
  text: string;
  /** Who gets a notification. */
  recipient: string;
}

/** Publishes a document, as TechDocs finds it for a component of the tenant. */
export async function publishDocument(
  publishDirectory: string,
  { tenantId }: Pick<ActiveTenant, 'tenantId'>,
  { component, title, text }: Omit<SampleContents, 'recipient'>,
): Promise<void> {
  const folder = join(
    tenantId === DEFAULT_TENANT_ID
      ? publishDirectory
      : join(`${publishDirectory}-of-tenants`, tenantId),
    'default/component',
    component,
  );
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'techdocs_metadata.json'),
    JSON.stringify({
      site_name: title,
      site_description: text,
      build_timestamp: 0,
      files: ['index.html'],
    }),
  );
  await writeFile(
    join(folder, 'index.html'),
    `<!doctype html>
<html lang="en">
  <head><title>${title}</title></head>
  <body>
    <div class="md-container"><main class="md-main"><div class="md-main__inner md-grid"><div class="md-content">
      <article class="md-content__inner md-typeset"><h1>${title}</h1><p>${text}</p></article>
    </div></div></main></div>
  </body>
</html>
`,
  );
}

/** Sends a notification within the tenant. */
export async function notify(
  services: { auth: AuthService; discovery: DiscoveryService },
  tenant: ActiveTenant,
  { component, title, recipient }: SampleContents,
): Promise<void> {
  const { auth, discovery } = services;
  const { token } = await auth.getPluginRequestToken({
    onBehalfOf: withTenant(tenant, await auth.getOwnServiceCredentials()),
    targetPluginId: 'notifications',
  });
  const answer = await fetch(
    `${await discovery.getBaseUrl('notifications')}/notifications`,
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        recipients: { type: 'entity', entityRef: recipient },
        payload: {
          title: `${title} is there to read`,
          link: `/docs/default/component/${component}`,
        },
      }),
    },
  );
  if (!answer.ok) {
    throw new Error(`${answer.status} ${await answer.text()}`);
  }
}
