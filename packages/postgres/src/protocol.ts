import { PostgresConnection, PostgresVersion } from './types';

/** What the guard is asked to start; see `guard/guard.cjs`. */
export type StartRequest = {
  version: PostgresVersion;
  /** The folder that holds `initdb` and `postgres`. */
  binaries: string;
  port?: number;
  dataDirectory?: string;
  settings: Record<string, string>;
};

/** The one thing that a guard says to its parent. */
export type GuardReply =
  | {
      type: 'ready';
      connection: PostgresConnection;
      pid: number;
      dataDirectory: string;
    }
  | { type: 'failed'; code: FailureCode; message: string };

export type FailureCode =
  | 'PORT_TAKEN'
  | 'DIRECTORY_UNUSABLE'
  | 'DIRECTORY_IN_USE'
  | 'OTHER_MAJOR_VERSION'
  | 'VERSION_UNAVAILABLE'
  | 'CANNOT_RUN'
  | 'FAILED';
