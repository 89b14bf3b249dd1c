/**
 * Waits for a promise, but not for ever.
 *
 * @throws Error with the message if it takes longer
 */
export async function within<T>(
  milliseconds: number,
  message: string,
  promise: Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${message} (${milliseconds} ms)`)),
      milliseconds,
    ).unref();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
