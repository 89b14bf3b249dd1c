import { createHash } from 'crypto';
import { format } from 'util';
import { Chromium, VisitOptions } from './Chromium';
import { findChromium } from './findChromium';
import { Portal, type PortalOptions } from './Portal';
import type { Visitor } from './Visitor';

const hasChromium = findChromium() !== undefined;

let portal: Portal | undefined;
let chromium: Chromium | undefined;

/** Starts the portal and the browser before the first test, and ends them after the last. */
export function shareOnePortal(options?: PortalOptions): void {
  if (!hasChromium) {
    process.stderr.write(
      'The tests in the browser are left out: there is no Chromium in the path, and CHROMIUM names none.\n',
    );
    return;
  }
  beforeAll(async () => {
    portal = await Portal.start(options);
    chromium = await Chromium.start(portal);
  });

  afterAll(async () => {
    await chromium?.stop();
    await portal?.remove();
  });
}

/** What a test gets. */
export interface Scene {
  portal: Portal;
  /** Somebody comes to the portal. */
  visit(options?: VisitOptions): Promise<Visitor>;
}

/**
 * A test in the browser. It fails as well where a visitor got an error that was not
 * expected, or data of another tenant, and keeps pictures and logs of that.
 */
export function inBrowser(
  name: string,
  test: (scene: Scene) => Promise<void>,
): void {
  // eslint-disable-next-line jest/expect-expect
  (hasChromium ? it : it.skip)(name, async () => {
    const visitors: Visitor[] = [];
    const visit = async (options: VisitOptions = {}) => {
      const visitor = await chromium!.visit(options);
      visitors.push(visitor);
      return visitor;
    };
    try {
      await test({ portal: portal!, visit });
      for (const visitor of visitors) {
        await visitor.untilQuiet();
        expect(visitor.complaints()).toEqual([]);
      }
    } catch (error) {
      throw await withEvidence(error as Error, visitors);
    } finally {
      await Promise.all(visitors.map(visitor => visitor.leave()));
    }
  });
}

/** The text that chooses the parts of a run. */
const partsChoice = process.env.E2E_PARTS || 'all';

/** Whether this run leaves out no part. */
export const hasAllParts = () => partsChoice === 'all';

/**
 * Tests that need no others. With `E2E_PARTS`, a run has an eighth of the parts, others for each text:
 * `.ci/run` sets it to the commit.
 */
export function part(name: string, tests: () => void): void {
  const [byte] = createHash('sha256')
    .update(`${partsChoice}: ${name}`)
    .digest();
  // eslint-disable-next-line jest/valid-title
  (hasAllParts() || byte < 32 ? describe : describe.skip)(name, tests);
}

/** The same test for several rows, with the values in its name as `%s`. */
inBrowser.each =
  <Row extends unknown[]>(rows: Row[]) =>
  (name: string, test: (scene: Scene, ...row: Row) => Promise<void>): void =>
    rows.forEach(row =>
      inBrowser(
        format(name, ...row.slice(0, name.split('%s').length - 1)),
        scene => test(scene, ...row),
      ),
    );

/** Has an error say what went wrong besides, and where to look. */
async function withEvidence(error: Error, visitors: Visitor[]): Promise<Error> {
  const test = expect.getState().currentTestName;
  const kept = await Promise.all(
    visitors.map((visitor, index) => visitor.keepEvidence(`${test} ${index}`)),
  );
  const complaints = visitors.flatMap(visitor => visitor.complaints());
  // Jest prints the stack.
  error.stack = [...complaints, ...kept.flat(), error.stack].join('\n');
  return error;
}
