import type { TranslationRef } from '@backstage/frontend-plugin-api';
import { mockupTranslationRef } from 'backstage-plugin-mockup';
import { tenantsTranslationRef } from 'backstage-plugin-tenants';
// No code of the app.
/* eslint-disable no-restricted-imports */
import { readdirSync, readFileSync } from 'fs';
import { join } from 'path';
/* eslint-enable no-restricted-imports */

// What holds for all pages is looked for in their sources: no test opens all of them.

const ROOT = join(__dirname, '../../..');
const FOLDERS = [
  ...['plugins/mockup', 'plugins/tenants'],
  ...['packages/pages', 'packages/app'],
];

const sources = FOLDERS.flatMap(folder =>
  readdirSync(join(ROOT, folder, 'src'), { recursive: true })
    .map(name => join(folder, 'src', String(name)))
    .filter(path => /\.tsx?$/.test(path) && !/\.test\./.test(path))
    .map(path => ({
      path,
      text: readFileSync(join(ROOT, path), 'utf8'),
    })),
);

/** All parts of the sources that a pattern matches, with where they are. */
const partsOf = (pattern: RegExp) =>
  sources.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(([part]) => ({ path, part })),
  );

describe('dates', () => {
  it('are formatted in one place', () => {
    const formatting =
      /DateTimeFormat|RelativeTimeFormat|toLocale(Date|Time)String|dateStyle/g;
    expect(new Set(partsOf(formatting).map(({ path }) => path))).toEqual(
      new Set(['packages/pages/src/Moment.tsx']),
    );
  });
});

describe('what the design system has', () => {
  it.each([
    // The page for signing in is there before anything of the others.
    [
      'Alert',
      'packages/pages/src/Alert.tsx',
      'packages/app/src/signIn/SignInPage.tsx',
    ],
    ['Header', 'packages/pages/src/PageHeader.tsx'],
    ['SearchField', 'packages/pages/src/ListFrame.tsx'],
    [
      'Skeleton',
      'packages/pages/src/Loading.tsx',
      // In the place of a drawing, as large as that will be.
      'plugins/mockup/src/components/ComponentView.tsx',
      'plugins/mockup/src/components/live/LiveComponent.tsx',
      'plugins/mockup/src/list/ListedMockup.tsx',
    ],
  ])('for all pages, as %s, is used in one place', (name, ...places) => {
    const imports = new RegExp(
      `import \\{[^}]*\\b${name}\\b[^}]*\\} from '@backstage/ui'`,
      'g',
    );
    expect(new Set(partsOf(imports).map(({ path }) => path))).toEqual(
      new Set(places),
    );
  });
});

describe('the buttons of dialogs', () => {
  it('end with the one that does what the dialog is for', () => {
    const footers = partsOf(/<DialogFooter[^]*?<\/DialogFooter>/g);
    expect(footers.length).toBeGreaterThan(3);
    for (const { path, part } of footers) {
      const variants = [...part.matchAll(/<Button\b(?:[^>]|=>)*/g)].map(
        ([tag]) => /variant="(\w+)"/.exec(tag)?.[1] ?? 'primary',
      );
      const [last, ...others] = variants.reverse();
      expect([path, last, others.includes('primary')]).toEqual([
        path,
        'primary',
        false,
      ]);
    }
  });

  const textOf = (path: string, key: string) => {
    const ref: TranslationRef = path.startsWith('plugins/mockup')
      ? mockupTranslationRef
      : tenantsTranslationRef;
    return (
      ref as unknown as { getDefaultMessages(): Record<string, string> }
    ).getDefaultMessages()[key];
  };

  it('are red where something is lost', () => {
    const dialogs = partsOf(/<Action(Dialog|Button)\b[^]*?onSubmit=/g).flatMap(
      ({ path, part }) => {
        const [, key] = /submit=\{t\('([^']+)'\)\}/.exec(part) ?? [];
        return key ? [{ path, part, text: textOf(path, key) }] : [];
      },
    );
    expect(dialogs.every(({ text }) => text)).toBe(true);
    const losing = dialogs.filter(({ text }) =>
      /^(Delete|Remove|Discard|End|Revoke)\b/.test(text),
    );
    expect(losing.length).toBeGreaterThan(5);
    expect(
      losing.filter(({ part }) => !/^ +destructive\b/m.test(part)),
    ).toEqual([]);
  });
});
