import type { Option } from 'commander';
import type { DoctorExamination, DoctorFinding } from '../../doctor';
import { requireOfPortal } from '../../tenant/portalPackages';
import { formatThings } from '../../text';
import { loadConfig } from '../connection';
import { explainFailure } from '../failures';
import { commonOptions } from '../options';
import type { CommandOptions } from '../options';
import { Output } from '../output';
import type { Streams } from '../output';

/** The packages that look at what they depend on, in the order of the report. */
const PACKAGES = [
  'backstage-plugin-catalog-tenancy-node',
  'backstage-plugin-catalog-backend-module-tenancy',
  'backstage-plugin-catalog-backend-module-tenant-engines',
];

/** For a system that watches: what it reads of the exit. */
const EXIT_CODE = { well: 0, failure: 1, unknown: 2 } as const;

const MARKS: Record<DoctorFinding['level'], string> = {
  ok: 'ok     ',
  warning: 'warning',
  failure: 'FAILURE',
  unknown: 'UNKNOWN',
};

export const DOCTOR_DESCRIPTION =
  'Look at configuration, database, roles, policies, hostnames, tokens, engines and versions, and say what is wrong.';

export const DOCTOR_DETAILS = `
It changes nothing, and needs the environment and the configuration files of the backend.

Exit codes:
  0  nothing is wrong; there may be warnings
  1  something is wrong
  2  it could not look: the configuration can't be read, or the database does not answer`;

export function doctorOptions(): Option[] {
  return commonOptions().filter(({ long }) =>
    ['--config', '--json'].includes(long ?? ''),
  );
}

/** Examines everything, prints what was found, and resolves to the exit code. */
export async function runDoctor(
  options: Pick<CommandOptions, 'config' | 'json'>,
  streams: Streams,
): Promise<number> {
  const output = new Output(
    streams,
    { json: options.json },
    { command: 'doctor' },
  );
  try {
    const config = await loadConfig(options.config ?? []);
    const findings = (
      await Promise.all(examinations().map(examine => examine(config)))
    ).flat();
    output.add({ findings });
    findings.forEach(({ subject, level, message }) =>
      output.print(`${MARKS[level]}  ${subject}: ${indented(message)}`),
    );
    output.succeed(summaryOf(findings));
    return exitCodeOf(findings);
  } catch (error) {
    output.fail(explainFailure(error), process.env.DEBUG && String(error));
    return EXIT_CODE.unknown;
  }
}

function examinations(): DoctorExamination[] {
  return PACKAGES.flatMap(
    name =>
      // A backend need not have all of them.
      requireOfPortal<{ doctorExamination: DoctorExamination }>(name)
        ?.doctorExamination ?? [],
  );
}

function exitCodeOf(findings: DoctorFinding[]): number {
  const has = (level: DoctorFinding['level']) =>
    findings.some(finding => finding.level === level);
  if (has('failure')) {
    return EXIT_CODE.failure;
  }
  return has('unknown') || findings.length === 0
    ? EXIT_CODE.unknown
    : EXIT_CODE.well;
}

function summaryOf(findings: DoctorFinding[]): string {
  const count = (level: DoctorFinding['level']) =>
    findings.filter(finding => finding.level === level).length;
  if (findings.length === 0) {
    return `None of the packages of tenants is installed here. Run this in the folder of the backend.`;
  }
  return `${formatThings(count('failure'), 'failure')}, ${formatThings(
    count('warning'),
    'warning',
  )}, ${formatThings(count('unknown'), 'unanswered question')}.`;
}

/** Lines after the first stand below the text, behind the mark. */
function indented(message: string): string {
  return message.replace(/\n/g, `\n${' '.repeat(9)}`);
}
