/** The options of all commands, as commander names them. */
export interface CommandOptions {
  dryRun?: boolean;
  schema: string;
  lockTimeout: number;
  maxPause?: number;
  batchSize: number;
  json?: boolean;
  url?: string;
  config?: string[];

  tenantName?: string;
  adminGrant?: boolean;
  backupCompleted?: boolean;
  allowMissing?: string[];
  freeDisk?: number;
  baseUrl?: string;
  to?: number;
  force?: boolean;
  yes?: boolean;
  steps?: boolean;
  schedule?: boolean;
  maxBlock?: number;
  catalogSchema?: string;
  keepTables?: boolean;
}
