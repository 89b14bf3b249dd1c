import type { Config } from '@backstage/config';
import { NotImplementedError } from '@backstage/errors';
import type { TenancyConfig } from './TenancyConfig';

/**
 * Reads the configuration under `tenancy`.
 *
 * @throws `InputError` for a value that is not of the form that is expected: it
 * names the key and what is expected, and shows no secret
 * @public
 */
export function readTenancyConfig(
  _config: Config,
  _environment: NodeJS.ProcessEnv = process.env,
): TenancyConfig {
  throw new NotImplementedError('readTenancyConfig');
}
