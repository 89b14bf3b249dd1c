import { accessSync, constants } from 'fs';
import { delimiter, join } from 'path';

// As distributions and Google call it.
const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

const MACOS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/**
 * The browser of this machine: that which the variable CHROMIUM names, or one in the path.
 * Nothing is downloaded.
 */
export function findChromium(): string | undefined {
  const named = process.env.CHROMIUM;
  if (named) {
    if (!isExecutable(named)) {
      throw new Error(`CHROMIUM names ${named}, which is no program`);
    }
    return named;
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const inPath = folders.flatMap(folder =>
    NAMES.map(name => join(folder, name)),
  );
  return [...inPath, ...MACOS].find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
