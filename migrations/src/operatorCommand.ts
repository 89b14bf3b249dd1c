import { basename } from 'node:path';

/** The package with the command line, and its bin. */
const PACKAGE = 'backstage-catalog-tenancy-cli';

/** Of the scripts in the `package.json` of a repository: `migrate:phase1`. */
const SCRIPT_PREFIX = 'migrate:';

/** The script of the commands about one tenant: `tenant purge acme`. */
const TENANT_SCRIPT = 'tenant';

/**
 * The commands of the operator.
 *
 * @public
 */
export type OperatorCommandName =
  | 'preflight'
  | `phase${number}`
  | 'all'
  | 'upgrade'
  | 'status'
  | 'verify'
  | 'doctor'
  | 'rollback'
  | 'cleanup'
  | 'partition'
  | 'unpartition'
  | 'distribute'
  | 'undistribute'
  | 'move-tenant'
  | 'adopt'
  | 'unadopt'
  | 'tenant';

/**
 * A command of the operator as it is typed: every message that advises one names it
 * with this.
 *
 * A message of the command line names it the way that the running command was
 * invoked: through a script (`yarn migrate:phase1`, `npm run -s migrate:phase1 --`)
 * or by the package's own name. A backend can't know which scripts its repository
 * has, and names the package with `npx`, which works in all of them.
 *
 * @param options - what follows the name, such as `--to 0`
 * @param invocation - of the running process
 * @public
 */
export function operatorCommand(
  name: OperatorCommandName,
  options: string = '',
  invocation: Pick<NodeJS.Process, 'argv' | 'env'> = process,
): string {
  return render(name, options, invocation);
}

/** What the help of the whole command line begins with. */
export function usageOfCommands(): string {
  return render('<command>', '[options]', process);
}

function render(
  name: string,
  options: string,
  { argv, env }: Pick<NodeJS.Process, 'argv' | 'env'>,
): string {
  const isYarn = env.npm_config_user_agent?.startsWith('yarn/') ?? false;
  const running = env.npm_lifecycle_event ?? '';
  if (running === TENANT_SCRIPT || running.startsWith(SCRIPT_PREFIX)) {
    const script = name === TENANT_SCRIPT ? name : `${SCRIPT_PREFIX}${name}`;
    return isYarn
      ? join('yarn', script, options)
      : join('npm run -s', script, options && `-- ${options}`);
  }
  // Yarn says that it runs a backend, too.
  const isYarnBin = isYarn && basename(argv[1] ?? '') === PACKAGE;
  return join(isYarnBin ? 'yarn' : 'npx', PACKAGE, name, options);
}

function join(...words: string[]): string {
  return words.filter(Boolean).join(' ');
}
