interface Opened {
  close(): Promise<unknown>;
}

/**
 * Opens something before each test, such as a database, and closes it after that.
 *
 * @returns what stands for that of the present test
 */
export function forEachTest<T extends Opened>(open: () => Promise<T>): T {
  let current: T | undefined;
  beforeEach(async () => {
    current = await open();
  });
  afterEach(() => current!.close());
  return new Proxy({} as T, { get: (_, name) => Reflect.get(current!, name) });
}

/** The same for all tests of a block together. */
export function forAllTests<T extends Opened>(open: () => Promise<T>): T {
  let current: T | undefined;
  beforeAll(async () => {
    current = await open();
  });
  afterAll(() => current!.close());
  return new Proxy({} as T, { get: (_, name) => Reflect.get(current!, name) });
}
