/**
 * What a script learns from the exit of a command.
 *
 * @public
 */
export const EXIT_CODES = {
  done: 0,
  unexpected: 1,
  usage: 2,
  refused: 3,
  verificationFailed: 4,
  otherOperator: 5,
  lockNotGranted: 6,
  connectionLost: 7,
  applicationConnected: 8,
  cancelled: 9,
} as const;

/**
 * A failure that an operator can act on: its message says what was found and
 * what to do, and the command ends with its exit code.
 *
 * @public
 */
export class MigrationError extends Error {
  /** What the command ends with: one of {@link EXIT_CODES}. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.name = new.target.name;
    this.exitCode = exitCode;
  }
}

/**
 * A condition of the step does not hold. Nothing was changed by that step.
 *
 * @public
 */
export class RefusedError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.refused);
  }
}

/** The code of errors of our own, whose message is the names. */
export const FOREIGN = 'P0T01';

/** What stands under names that the migration needs, and what to do about it. */
export function namesTaken(taken: string[]): RefusedError {
  return new RefusedError(
    `The migration did not create ${taken.join(', ')}, and needs ${
      taken.length === 1 ? 'that name' : 'those names'
    }. Rename what stands there, or move it to another schema.`,
  );
}

/**
 * A check of the data has failed, such as a copy that differs from its source.
 *
 * @public
 */
export class VerificationError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.verificationFailed);
  }
}

/** @throws {@link VerificationError} that names all that was found */
export function refuseProblems(problems: string[]): void {
  if (problems.length > 0) {
    throw new VerificationError(problems.join('\n'));
  }
}

/**
 * Another operator's command is at work on the same schema.
 *
 * @public
 */
export class OtherOperatorError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.otherOperator);
  }
}

/**
 * A lock was not granted within the time that writers may be kept waiting,
 * however often it was asked for.
 *
 * @public
 */
export class LockNotGrantedError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.lockNotGranted);
  }
}

/**
 * The connection to the database ended. What was committed stays; the same
 * command goes on from there.
 *
 * @public
 */
export class ConnectionLostError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.connectionLost);
  }
}

/** A database of the command can't be connected to. */
export class ConnectionError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.unexpected);
  }
}

/**
 * Another session has cancelled a statement of the command, as with `pg_cancel_backend`.
 * What was committed stays; the same command goes on from there.
 *
 * @public
 */
export class CancelledError extends MigrationError {
  constructor() {
    super(
      'The command was cancelled in the database (pg_cancel_backend). What was ' +
        'committed stays: run the same command again, and it goes on from there.',
      EXIT_CODES.cancelled,
    );
  }
}

/** PostgreSQL had no room on a disk. What was committed stays. */
export class DiskFullError extends MigrationError {
  constructor(message: string) {
    super(
      `A disk of the database server is full: ${message}. Make room on it, and run the same ` +
        'command again: it goes on from there.',
      EXIT_CODES.refused,
    );
  }
}

/** The server refuses writes, as one that was demoted. What was committed stays. */
export class ReadOnlyServerError extends MigrationError {
  constructor() {
    super(
      'The database server takes no writes. Connect to the primary server, or turn ' +
        'default_transaction_read_only off, and run the same command again: it goes on from there.',
      EXIT_CODES.refused,
    );
  }
}

/**
 * The application is connected, and the command would take away what it works with.
 * Nothing was changed.
 *
 * @public
 */
export class ApplicationConnectedError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.applicationConnected);
  }
}

/** Wrong usage: options are missing, or do not fit together. */
export class UsageError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.usage);
  }
}
