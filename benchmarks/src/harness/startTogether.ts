/**
 * Waits for servers that are starting at the same time. If one does not start, the
 * others are stopped.
 */
export async function startTogether<T extends { stop(): Promise<void> }>(
  starting: Promise<T>[],
): Promise<T[]> {
  const outcomes = await Promise.allSettled(starting);
  const servers = outcomes.flatMap(outcome =>
    outcome.status === 'fulfilled' ? outcome.value : [],
  );
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) {
    await Promise.all(servers.map(server => server.stop()));
    throw (failed as PromiseRejectedResult).reason;
  }
  return servers;
}
