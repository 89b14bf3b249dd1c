import { readExtension, REQUIRED_EXTENSIONS } from '../../schema/extensions';
import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';

const ALLOWED_MISSING = ['pg_cron'];

/** The extensions that phase 1 creates where they are missing. */
export const extensions: PreflightCheck = {
  name: 'extensions',
  scope: 'server',
  async run(context) {
    const outcomes: Outcome[] = refuseUnknown(context);
    for (const name of REQUIRED_EXTENSIONS) {
      outcomes.push(await judge(context, name));
    }
    return outcomes;
  },
};

function refuseUnknown({ options }: PreflightContext): Outcome[] {
  return options.allowMissing
    .filter(name => !ALLOWED_MISSING.includes(name))
    .map(name =>
      failure(
        `"${name}" cannot be allowed to be missing: only ${ALLOWED_MISSING.join(
          ', ',
        )} can.`,
      ),
    );
}

async function judge(
  { executor, facts }: PreflightContext,
  name: string,
): Promise<Outcome> {
  const { installedIn, available, creatable } = await readExtension(
    executor,
    name,
  );
  if (installedIn) {
    return ok(`${name} is installed, in the schema ${installedIn}.`);
  }
  if (!available) {
    return failure(`${name} is not available on the server.`, {
      advice:
        'Install the package of the server that has the additional modules, such ' +
        'as postgresql-contrib.',
    });
  }
  if (!creatable) {
    return failure(
      `${name} is not installed, and the login ${facts.login} may not create it.`,
      {
        advice: `Let a superuser run this in the database ${facts.database}.`,
        sql: `create extension ${escapeIdentifier(name)};`,
      },
    );
  }
  return ok(`${name} is not installed yet: phase 1 creates it.`);
}
