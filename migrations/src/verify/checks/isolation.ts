import {
  describeFinding,
  examineIsolation,
} from '../../isolation/examineIsolation';
import { isSwapped } from '../../schema/partitions';
import { APP_ROLE } from '../../roles';
import type { Check } from '../Check';

/** What the database itself does to keep tenants apart (design: the database). */
export const isolation: Check = {
  name: 'row-level security is on, forced, and has no way round',
  from: 4,
  async examine({ executor, settings, reporter }) {
    const { missing, findings, deviations, warnings } = await examineIsolation({
      read: (sql, values) => executor.read(sql, values),
      schema: settings.schema,
      user: APP_ROLE,
      isPartitioned: await isSwapped(executor),
    });
    warnings.map(describeFinding).forEach(warning => reporter.warn(warning));
    return [...missing, ...findings, ...deviations].map(describeFinding);
  },
};
