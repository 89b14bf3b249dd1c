import type { DoctorExamination } from 'backstage-catalog-tenancy-migrations';
import { examined } from 'backstage-plugin-catalog-tenancy-node';
import { join } from 'node:path';
import { readOperatorConfig } from '../config/operatorConfig';
import { logPackages, readEnginePackages } from '../engine/packages';

/**
 * The findings of `doctor` on the configuration of engines and on their versions.
 *
 * @public
 */
export const doctorExamination: DoctorExamination = async config => {
  const packages = readEnginePackages(join(process.cwd(), 'package.json'));
  return [
    ...(await examined('configuration of engines', {
      ok: 'tenancy.engines, tenancy.plugins and tenancy.tenants are configured as they should be.',
      check: () => {
        readOperatorConfig(config);
      },
    })),
    ...(await examined('versions', {
      ok: `Node.js ${process.version}, ${packages
        .map(({ name, version }) => `${name} ${version}`)
        .join(', ')}.`,
      check: logger => logPackages(packages, logger),
    })),
  ];
};
