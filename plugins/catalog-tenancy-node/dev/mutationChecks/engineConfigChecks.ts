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
  {
    name: 'the refusal of a key of the configuration that nobody knows',
    edits: [
      {
        file: 'plugins/catalog-tenancy-node/src/config/unknownKeys.ts',
        find: 'if (!Object.hasOwn(known, name)) {',
        replace: "if (name === '') {",
      },
    ],
    tests: [
      'plugins/catalog-tenancy-node/src/config/readTenancyConfig.test.ts',
    ],
  },
  {
    name: 'the refusal of methods of services that this version does not know',
    edits: [
      {
        file: 'plugins/catalog-backend-module-tenant-engines/src/engine/decorate.ts',
        find: 'return around(service, own, (_method, key) => () => {',
        replace:
          'if (name) return decorate(service, own);\n  return around(service, own, (_method, key) => () => {',
      },
    ],
    tests: [
      'plugins/catalog-backend-module-tenant-engines/src/engine/services.test.ts',
    ],
  },
  {
    name: 'the refusal of a catalog that lies beside the one that is adopted',
    edits: [
      {
        file: 'plugins/catalog-tenancy-node/src/startup/decideAdoption.ts',
        find: 'if (begun && adopted !== undefined && adopted !== own) {',
        replace: 'if (begun && adopted === undefined && adopted !== own) {',
      },
    ],
    tests: ['plugins/catalog-tenancy-node/src/startup/startTenancy.test.ts'],
  },
  {
    name: 'the advice to a login that does not inherit',
    edits: [
      {
        file: 'migrations/src/schema/membership.ts',
        find: '...(inherits ? [] : [`alter role ${name} inherit`]),',
        replace: '',
      },
      {
        file: 'migrations/src/schema/membership.ts',
        find: 'return [inherits && !member ? grant : `${grant} with inherit true`];',
        replace: 'return [grant];',
      },
    ],
    tests: ['migrations/src/preflight/login.test.ts'],
  },
];
