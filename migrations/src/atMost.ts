/** Waits until all work has settled, or for a number of milliseconds. */
export async function atMost(
  milliseconds: number,
  work: Promise<unknown>[],
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    Promise.allSettled(work),
    new Promise(resolve => {
      timer = setTimeout(resolve, milliseconds);
    }),
  ]);
  clearTimeout(timer);
}
