import type { MutationCheck } from './MutationCheck';

const OPEN_TENANT = 'plugins/tenants/src/openTenant';
const MIDDLEWARE = `${OPEN_TENANT}/createTenantFetchMiddleware`;

const MOCKUPS = 'plugins/mockup/src';
const EDITOR = `${MOCKUPS}/editor`;

/** What keeps a page in the browser to one tenant, and what was typed there from being lost. */
export const browserChecks: MutationCheck[] = [
  {
    name: 'the header by which a page names its tenant',
    edits: [
      {
        file: `${MIDDLEWARE}.ts`,
        find: 'headers.set(HEADER, pageTenant.slug);',
        replace: '',
      },
    ],
    tests: [`${MIDDLEWARE}.test.ts`],
  },
  {
    name: 'the limit to the backend of what a page names its tenant to',
    edits: [
      {
        file: `${MIDDLEWARE}.ts`,
        find: 'return url => patterns.some(pattern => pattern.test(url));',
        replace: 'return url => patterns.length > 0 && url !== undefined;',
      },
    ],
    tests: [`${MIDDLEWARE}.test.ts`],
  },
  {
    name: 'the difference between a refused tenant and any other 403',
    edits: [
      {
        file: `${MIDDLEWARE}.ts`,
        find: 'return (await response.clone().text()) === REFUSAL;',
        replace: 'return REFUSAL.length > 0;',
      },
    ],
    tests: [`${MIDDLEWARE}.test.ts`],
  },
  {
    name: 'the words over a page whose tenant is refused',
    edits: [
      {
        file: `${OPEN_TENANT}/OpenTenantRoot.tsx`,
        find: 'pageTenant.onRefusal(() => setRefused(true))',
        replace: 'pageTenant.onRefusal(() => setRefused(false))',
      },
    ],
    tests: [`${OPEN_TENANT}/openTenant.test.tsx`],
  },
  {
    name: 'the part of the storage of a browser that a tenant has',
    edits: [
      {
        file: `${OPEN_TENANT}/PageTenant.ts`,
        find: "namespace: slug === 'default' ? undefined : `tenants/${slug}`,",
        replace: "namespace: slug === 'default' ? undefined : undefined,",
      },
    ],
    tests: [`${OPEN_TENANT}/openTenant.test.tsx`],
  },
  {
    name: 'the version over which the layout of a mockup is saved',
    edits: [
      {
        file: `${EDITOR}/saving/useSaving.ts`,
        find: '{ layoutData: [...items], versionTag },\n        { ifMatch: next.etag },',
        replace: '{ layoutData: [...items], versionTag },',
      },
    ],
    tests: [`${EDITOR}/Editor.test.tsx`],
  },
  {
    name: 'the draft of a mockup when its page is left',
    edits: [
      {
        file: `${EDITOR}/saving/useDraft.ts`,
        find: 'await now.drafts.write(now.mockupId, {',
        replace:
          'await now.drafts.remove(now.mockupId);\n        Object.assign({}, {',
      },
    ],
    tests: [`${EDITOR}/Editor.test.tsx`],
  },
  {
    name: 'the rows that what a drag lands on goes down',
    edits: [
      {
        file: `${EDITOR}/model/grid.ts`,
        find: 'const lower = lowered(box, changed, obstacles);',
        replace: 'const lower = lowered(box, obstacles);',
      },
    ],
    tests: [`${EDITOR}/model`],
  },
  {
    name: 'the choice where somebody else has saved the mockup',
    edits: [
      {
        file: `${EDITOR}/saving/useSaving.ts`,
        find: 'setConflict({ theirs, versionTag });\n    return undefined;',
        replace: 'return theirs;',
      },
    ],
    tests: [`${EDITOR}/Editor.test.tsx`],
  },
  {
    name: 'the draft of a mockup that each tab has to itself',
    edits: [
      {
        file: `${EDITOR}/saving/drafts.ts`,
        find: '.filter(({ tab }) => tab === this.#tab || !open.has(tab))',
        replace: '.filter(({ tab }) => tab === this.#tab || open.size >= 0)',
      },
    ],
    tests: [`${EDITOR}/Editor.test.tsx`],
  },
  {
    name: 'the question before unsaved work is left',
    edits: [
      {
        file: `${EDITOR}/saving/useLeaveQuestion.ts`,
        find: 'navigator.push = ask(push);',
        replace: 'navigator.push = ask ? push : ask(push);',
      },
    ],
    tests: [`${EDITOR}/Editor.test.tsx`],
  },
  {
    name: 'the shares over which a mockup is shared',
    edits: [
      {
        file: `${MOCKUPS}/sharing/useSharing.ts`,
        find: '{ shares },\n          { ifMatch: over.etag },',
        replace: '{ shares },',
      },
    ],
    tests: [`${MOCKUPS}/sharing/ShareDialog.test.tsx`],
  },
  {
    name: 'the version over which another one is restored',
    edits: [
      {
        file: `${MOCKUPS}/history/RestoreDialog.tsx`,
        find: '{ ifMatch: (current ?? shown).etag },',
        replace: '{},',
      },
    ],
    tests: [`${MOCKUPS}/history/history.test.tsx`],
  },
];
