interface Opened {
  close(): Promise<unknown>;
}

/**
 * Opens something before each test, such as a database, and closes it after that.
 *
 * @returns what stands for that of the present test
 */
export function forEachTest<T extends Opened>(open: () => Promise<T>): T {
  const holder: Holder<T> = {};
  beforeEach(async () => {
    holder.current = await open();
  });
  afterEach(() => holder.current!.close());
  return standInFor(holder);
}

/** The same for all tests of a block together. */
export function forAllTests<T extends Opened>(open: () => Promise<T>): T {
  const holder: Holder<T> = {};
  beforeAll(async () => {
    holder.current = await open();
  });
  afterAll(() => holder.current!.close());
  return standInFor(holder);
}

interface Holder<T> {
  current?: T;
}

function standInFor<T extends object>(holder: Holder<T>): T {
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(holder.current!, name),
    set: (_, name, value) => Reflect.set(holder.current!, name, value),
  });
}
