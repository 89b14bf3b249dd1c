import { EXIT_CODES, MigrationError } from '../errors';

/** What was asked for can't be done as it was asked. */
export class UsageError extends MigrationError {
  constructor(message: string) {
    super(message, EXIT_CODES.usage);
  }
}
