import type { PreflightCheck } from '../PreflightCheck';
import { backup } from './backup';
import { columns } from './columns';
import { connection } from './connection';
import { constraints } from './constraints';
import { dependents } from './dependents';
import { entityKeys } from './entityKeys';
import { entityRefs } from './entityRefs';
import { extensions } from './extensions';
import { foreignKeys } from './foreignKeys';
import { freeDisk } from './freeDisk';
import { grants } from './grants';
import { invalidIndexes } from './invalidIndexes';
import { lockTimeout } from './lockTimeout';
import { names } from './names';
import { orphans } from './orphans';
import { pgCron } from './pgCron';
import { privileges } from './privileges';
import { replication } from './replication';
import { requiredValues } from './requiredValues';
import { rowSecurity } from './rowSecurity';
import { serverVersion } from './serverVersion';
import { storage } from './storage';
import { tables } from './tables';
import { transactions } from './transactions';
import { triggers } from './triggers';
import { views } from './views';
import { writable } from './writable';

/** The checks, in the order in which an operator reads of them. */
export const checks: PreflightCheck[] = [
  serverVersion,
  connection,
  writable,
  lockTimeout,
  extensions,
  pgCron,
  privileges,
  freeDisk,
  backup,
  transactions,
  names,
  tables,
  columns,
  entityKeys,
  requiredValues,
  entityRefs,
  orphans,
  invalidIndexes,
  constraints,
  foreignKeys,
  triggers,
  views,
  dependents,
  rowSecurity,
  storage,
  replication,
  grants,
];
