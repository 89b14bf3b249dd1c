import type { Config } from '@backstage/config';

/**
 * What `doctor` has found out about one subject.
 *
 * @public
 */
export interface DoctorFinding {
  /** Such as `database` or `hostnames`. */
  subject: string;
  /** `unknown` where it could not look. */
  level: 'ok' | 'warning' | 'failure' | 'unknown';
  /** What is wrong and what to type, or what is well. */
  message: string;
}

/**
 * What a package exports as `doctorExamination`: it looks at what the package depends on, changes
 * nothing, and never rejects.
 *
 * @public
 */
export type DoctorExamination = (config: Config) => Promise<DoctorFinding[]>;
