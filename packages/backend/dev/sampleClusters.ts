import { ClusterServer } from '@internal/catalog-testing/ClusterServer';

// As the Resources in examples/ and tenancy.engines.allow in app-config.yaml have it.
const PORT = 7009;
const RETRY_MS = 5_000;

/**
 * Serves the cluster of each sample tenant, with one pod. While another portal of this machine has
 * the port, that one serves the same.
 *
 * @param podOf - the name of the pod in the cluster of a tenant
 * @returns a function that stops it
 */
export async function serveSampleClusters(
  podOf: (tenantSlug: string) => string,
): Promise<() => Promise<void>> {
  try {
    const clusters = await new ClusterServer(path =>
      podOf(path.slice(1)),
    ).listen(PORT);
    return () => clusters.stop();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') {
      throw error;
    }
  }
  let stop = async () => {};
  const retry = setTimeout(async () => {
    stop = await serveSampleClusters(podOf);
  }, RETRY_MS).unref();
  return async () => {
    clearTimeout(retry);
    await stop();
  };
}
