import { ResponseError } from '@backstage/errors';
import {
  configApiRef,
  discoveryApiRef,
  fetchApiRef,
  useApi,
} from '@backstage/frontend-plugin-api';

/** A location that members of a tenant have registered with its catalog. */
export interface RegisteredLocation {
  id: string;
  type: string;
  target: string;
}

/** The hostname decides before the header which tenant a request is for. */
export class OtherTenantsHostname extends Error {
  constructor(readonly portal: string) {
    super(
      `This page is at the hostname of another tenant. Open the administration at ${portal}.`,
    );
  }
}

/** Calls the catalog of one tenant, even if another one is open in the page. */
export function useCatalogOf(slug: string) {
  const configApi = useApi(configApiRef);
  const discoveryApi = useApi(discoveryApiRef);
  const fetchApi = useApi(fetchApiRef);

  async function send(
    path: string,
    method = 'GET',
    body?: object,
  ): Promise<Response> {
    const baseUrl = await discoveryApi.getBaseUrl('catalog');
    const portal = configApi.getString('app.baseUrl');
    const hosts = [portal, configApi.getString('backend.baseUrl')].map(
      url => new URL(url).host,
    );
    if (!hosts.includes(new URL(baseUrl, window.location.href).host)) {
      throw new OtherTenantsHostname(portal);
    }
    const response = await fetchApi.fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        'X-Tenant-Slug': slug,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      throw await ResponseError.fromResponse(response);
    }
    return response;
  }

  return {
    async list(): Promise<RegisteredLocation[]> {
      const response = await send('/locations');
      const locations: { data: RegisteredLocation }[] = await response.json();
      return locations.map(({ data }) => data);
    },
    async remove(id: string): Promise<void> {
      await send(`/locations/${encodeURIComponent(id)}`, 'DELETE');
    },
    /**
     * Reads a location without adding it, as the import page does.
     *
     * @returns how many entities it has
     * @throws what the catalog says of the location, with status 400
     */
    async tryOut(target: string): Promise<number> {
      const response = await send('/locations?dryRun=true', 'POST', {
        type: 'url',
        target,
      });
      const { entities }: { entities: { kind: string }[] } =
        await response.json();
      return entities.filter(({ kind }) => kind !== 'Location').length;
    },
    /** Has the catalog process an entity now, and the location that it is from. */
    async refresh(entityRef: string): Promise<void> {
      await send('/refresh', 'POST', { entityRef });
    },
  };
}
