import type { PhaseNumber } from '../../engine/Step';
import { operatorCommand } from '../../operatorCommand';

/** What the operator is told of a phase, after the specification's table. */
export interface Guidance {
  /** What it does, for its help. */
  description: string;
  /** How long it takes, and what of it the application notices. */
  expectation: string;
  /** What the operator does when it is complete. */
  next: string;
}

export const guidance: Record<PhaseNumber, Guidance> = {
  1: {
    description:
      'Phase 1: create the table tenants, and add a nullable tenant_id to entities, relations and refresh_state.',
    expectation: 'about 5-10 min, no downtime',
    next:
      'The application goes on as it is; rows that it writes from now on get the default tenant. ' +
      `Next: ${operatorCommand(
        'phase2',
        '--tenant-name "<name of your organisation>"',
      )}.`,
  },
  2: {
    description:
      'Phase 2: create the default tenant and give it all rows; then tenant_id is NOT NULL and references tenants.',
    expectation: 'about 10-30 min, no downtime',
    next:
      `The application goes on as it is. Next: ${operatorCommand('phase3')}, ` +
      'which prepares what the new application needs, and then deploy that.',
  },
  3: {
    description:
      'Phase 3: prepare the roles, grants, unique keys and constraints that the new application works with.',
    expectation: 'about 1-2 hours with the deployment, no downtime',
    next:
      'Give portal_app a password (\\password portal_app in psql), and deploy the new application: it ' +
      'connects as portal_app and sets the tenant of each request; keep MULTI_TENANCY_ENABLED unset. ' +
      `When no old application is connected any more: ${operatorCommand(
        'phase4',
      )}.`,
  },
  4: {
    description:
      'Phase 4: enable row-level security with one policy for each table, and grant portal_admin to portal_app.',
    expectation: 'about 5 min, no downtime',
    next:
      'Watch the application for "permission denied for table", which means a query without a tenant. ' +
      `Next: ${operatorCommand('phase5')}, which copies while the ` +
      'application writes, and then swaps the tables.',
  },
  5: {
    description:
      'Phase 5: copy into partitioned tables, compare, and swap them in with composite keys.',
    expectation:
      'about 30-60 min; the swap is one short transaction for which writers wait',
    next:
      'The old tables are kept and up to date: ' +
      `${operatorCommand('rollback')} goes back without losing a write of ` +
      'the default tenant. Next: set MULTI_TENANCY_ENABLED=true, restart the application, and run ' +
      `${operatorCommand('phase6', '--base-url <url>')}. ` +
      `After 24 hours at the earliest: ${operatorCommand('cleanup')}.`,
  },
  6: {
    description:
      'Phase 6: check with the smoke tests that multi-tenancy is active.',
    expectation: 'about 1 hour with the rollout, no downtime',
    next:
      'Watch the application through the gradual rollout. When the old tables are not needed any more, ' +
      `24 to 48 hours after the swap: ${operatorCommand('cleanup')}.`,
  },
};
