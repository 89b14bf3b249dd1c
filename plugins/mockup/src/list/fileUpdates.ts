import {
  isEqualJson,
  type Mockup,
  MOCKUP_FILE,
  MOCKUP_LIMITS,
  type MockupApi,
  type MockupFileMockup,
  mockupFileMockupSchema,
  type MockupFileVersion,
  mockupFileVersionSchema,
  type SaveVersionRequest,
} from 'backstage-plugin-mockup-common';
import { type Dashboard, toDashboard, toFileMockup } from './grafana';

type FileMockup = MockupFileMockup & { versions: MockupFileVersion[] };

/** A file of exported mockups, as far as it can be read. */
interface MockupFile {
  mockups: FileMockup[];
}

/** A mockup of a file, and the one here that has its name. */
export interface KnownMockup {
  inFile: FileMockup;
  here: Mockup;
}

/** What is in a file. */
interface ReadFile {
  content: MockupFile;
  /** Where the mockup is made of a dashboard of Grafana: that. */
  dashboard?: Dashboard;
}

/**
 * Reads a file; nothing where the backend has to say what is wrong with it.
 *
 * @param user - saves what is made of a dashboard of Grafana
 */
export async function readFile(
  file: File,
  user: string,
): Promise<ReadFile | undefined> {
  try {
    const content = JSON.parse(await file.text());
    const dashboard = toDashboard(content);
    if (dashboard) {
      const mockups = [toFileMockup(dashboard, user)];
      return { content: { ...MOCKUP_FILE, mockups }, dashboard };
    }
    const isRight =
      content.schema === MOCKUP_FILE.schema &&
      content.version === MOCKUP_FILE.version &&
      content.mockups.every(
        ({ versions, ...mockup }: FileMockup) =>
          mockupFileMockupSchema.safeParse(mockup).success &&
          versions.every(
            version => mockupFileVersionSchema.safeParse(version).success,
          ),
      );
    return isRight ? { content } : undefined;
  } catch {
    return undefined;
  }
}

/** Each is a request: the mockups of larger files are new ones. */
const MOST = 100;

/** Those of a file that are here already, by their names, each once. */
export async function findKnown(
  api: Pick<MockupApi, 'listMockups'>,
  { mockups }: MockupFile,
): Promise<KnownMockup[]> {
  const known: KnownMockup[] = [];
  if (mockups.length > MOST) {
    return known;
  }
  for (const inFile of mockups) {
    const { items } = await api.listMockups({
      search: inFile.name,
      limit: MOCKUP_LIMITS.pageSize,
    });
    const here = items.find(
      ({ id, name }) =>
        name === inFile.name && !known.some(each => each.here.id === id),
    );
    if (here) {
      known.push({ inFile, here });
    }
  }
  return known;
}

/**
 * Saves a layout as the newest version, where that differs.
 *
 * @returns false if the mockup was deleted since it was found
 */
export async function saveNewest(
  api: Pick<MockupApi, 'getMockup' | 'saveVersion'>,
  mockupId: string,
  version: SaveVersionRequest | undefined,
): Promise<boolean> {
  const read = await api.getMockup(mockupId);
  if (!read) {
    return false;
  }
  const before = read.mockup.latestVersion?.layoutData ?? [];
  if (version && !isEqualJson(version.layoutData, before)) {
    await api.saveVersion(mockupId, version, { ifMatch: read.etag });
  }
  return true;
}

/**
 * Makes the newest layout of the file the newest version here, where that differs. Older versions
 * stay as they are on both sides.
 *
 * @returns false if the mockup here was deleted since it was found
 */
export async function update(
  api: Pick<MockupApi, 'getMockup' | 'saveVersion'>,
  { inFile, here }: KnownMockup,
): Promise<boolean> {
  const newest = inFile.versions.at(-1);
  return saveNewest(
    api,
    here.id,
    newest && {
      layoutData: newest.layoutData,
      versionTag: newest.versionTag,
      message: newest.message,
    },
  );
}

/** A file with what is not here yet. */
export function withoutKnown(
  file: MockupFile,
  known: KnownMockup[],
): File | undefined {
  const mockups = file.mockups.filter(
    each => !known.some(({ inFile }) => inFile === each),
  );
  return mockups.length > 0 ? toFile({ ...file, mockups }) : undefined;
}

/** What the backend imports. */
export function toFile(content: MockupFile): File {
  return new File([JSON.stringify(content)], 'mockups.json', {
    type: 'application/json',
  });
}
