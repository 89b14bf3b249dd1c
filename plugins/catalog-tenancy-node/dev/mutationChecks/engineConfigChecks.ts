import type { MutationCheck } from './MutationCheck';

const CONFIG = 'plugins/catalog-backend-module-tenant-engines/src/config';
const VALIDATION = [`${CONFIG}/validation.test.ts`];

/** What the configuration of a tenant's engine must not reach. */
export const engineConfigChecks: MutationCheck[] = [
  {
    name: "the list of what a tenant's engine has of the backend's configuration",
    edits: [
      {
        file: `${CONFIG}/EngineConfigs.ts`,
        find: '      ...INHERITED,\n',
        replace: '      ...Object.keys(this.#backend),\n',
      },
    ],
    tests: [`${CONFIG}/EngineConfigs.test.ts`],
  },
  {
    name: "the check of hosts in a tenant's configuration",
    edits: [
      {
        file: `${CONFIG}/hosts.ts`,
        find: 'if (!this.#allows(url, named)) {',
        replace: 'if (!this.#allows(url, named) && this.#hosts.size === 0) {',
      },
    ],
    tests: VALIDATION,
  },
  {
    name: "the operator's URLs beside the operator's hosts in a tenant's configuration",
    edits: [
      {
        file: `${CONFIG}/hosts.ts`,
        find: 'expected !== undefined &&',
        replace: 'expected === null &&',
      },
    ],
    tests: VALIDATION,
  },
  {
    name: "the list of variables that a tenant's configuration may reference",
    edits: [
      {
        file: `${CONFIG}/references.ts`,
        find: 'if (!scope.variables.includes(name)) {',
        replace: "if (!scope.variables.includes(name) && name === '') {",
      },
    ],
    tests: VALIDATION,
  },
  {
    name: "the folder that the files of a tenant's configuration have to be in",
    edits: [
      {
        file: `${CONFIG}/references.ts`,
        find: 'if (!file.startsWith(folder + sep)) {',
        replace: "if (!file.startsWith('/')) {",
      },
    ],
    tests: VALIDATION,
  },
  {
    name: "references in place of secrets in a tenant's configuration",
    edits: [
      {
        file: `${CONFIG}/moduleSchemas.ts`,
        find: "if (config.originAt(path) !== 'reference') {",
        replace: "if (config.originAt(path) === 'mixed') {",
      },
    ],
    tests: [`${CONFIG}/moduleSchemas.test.ts`],
  },
  {
    name: "the refusal of the server's files to a tenant's engine",
    edits: [
      {
        file: `${CONFIG}/fileTargets.ts`,
        find: "if (location.type !== 'file' || allowed.has(location.target)) {",
        replace: "if (location.type !== 'file' || allowed.size < 2) {",
      },
    ],
    tests: [`${CONFIG}/features.test.ts`],
  },
  {
    name: "the refusal of the backend's identity in a cloud to a tenant's engine",
    edits: [
      {
        file: `${CONFIG}/ownCredentials.ts`,
        find: 'predicate: (url: URL) => needsBackendIdentity(url, config),',
        replace:
          'predicate: (url: URL) => needsBackendIdentity(url, config) && !url.host,',
      },
    ],
    tests: [`${CONFIG}/features.test.ts`],
  },
];
