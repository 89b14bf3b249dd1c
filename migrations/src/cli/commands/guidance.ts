import type { PhaseNumber } from '../../engine/Step';
import { operatorCommand } from '../../operatorCommand';

/** The texts about a phase, after the specification's table. */
interface Guidance {
  /** For its help. */
  description: string;
  /** What the operator does after it. */
  next: string;
}

export const guidance: Record<PhaseNumber, Guidance> = {
  1: {
    description:
      'Phase 1: create the table tenants, and add a nullable tenant_id to entities, relations and refresh_state.',
    next: `The application goes on as it is. Next: ${operatorCommand(
      'phase2',
      '--tenant-name "<name of your organisation>"',
    )}.`,
  },
  2: {
    description:
      'Phase 2: create the default tenant and give it all rows; then tenant_id is NOT NULL and references tenants.',
    next: `The application goes on as it is. Next: ${operatorCommand(
      'phase3',
    )}, and then deploy the new application.`,
  },
  3: {
    description:
      'Phase 3: prepare the roles, grants, unique keys and constraints that the new application works with.',
    next:
      'Give portal_app a password (\\password portal_app in psql), and deploy the new application with MULTI_TENANCY_ENABLED unset. ' +
      `Next, when no old one is connected: ${operatorCommand('phase4')}.`,
  },
  4: {
    description:
      'Phase 4: enable row-level security with one policy for each table, and grant portal_admin to portal_app.',
    next:
      'Watch the application for "permission denied for table", which means a query without a tenant. ' +
      `Next: ${operatorCommand('phase5')}.`,
  },
  5: {
    description:
      'Phase 5: copy into partitioned tables, compare, and swap them in with composite keys. Writers wait for the swap.',
    next: `Next: set MULTI_TENANCY_ENABLED=true, restart the application, and run ${operatorCommand(
      'phase6',
      '--base-url <url>',
    )}. The way back stays until ${operatorCommand('cleanup')}.`,
  },
  6: {
    description:
      'Phase 6: check with the smoke tests that multi-tenancy is active.',
    next:
      'Watch the application through the gradual rollout. ' +
      `Tables of before the swap are dropped 24 to 48 hours after it: ${operatorCommand(
        'cleanup',
      )}.`,
  },
};
