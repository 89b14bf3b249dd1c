import {
  createOpenApiDocument as createDocument,
  openApiSchemas,
} from '@internal/http';
import * as common from 'backstage-plugin-tenants-common';
import { operations } from './operations';

const PATH_PARAMETERS: Record<string, string> = {
  slug: 'The slug of a tenant',
  id: 'The id of an invitation',
  share: 'The id of a share',
  principal:
    'A user as user:<namespace>/<name>, a group as group:<namespace>/<name>, or the subject of an external service; percent-encoded',
};

/** Describes the HTTP interface of the plugin as an OpenAPI 3.1 document. */
export function createOpenApiDocument(): object {
  return createDocument({
    title: 'Tenants',
    description:
      'The registry of tenants, who may enter them, and the engines that feed them.',
    schemas: openApiSchemas(common),
    operations,
    pathParameter: name => ({
      description: PATH_PARAMETERS[name],
      schema: { type: 'string' },
    }),
    errors: {
      404: 'Not found',
      409: 'The name is taken, the last admin must stay, or the operator configures it',
      412: 'The resource is not in the state that If-Match names',
      501: 'portal_admin is withheld from the database user',
    },
  });
}
