import { Client } from 'pg';

/**
 * Kills a command after so many statements: every later one of any connection
 * fails before it is sent, except for those of the test itself.
 */
export class Killer {
  /** Whether there was a statement that came too late. */
  hasKilled = false;

  /** How many statements were sent. */
  private sent = 0;

  private constructor(
    private readonly limit: number,
    private readonly spy: jest.SpyInstance,
  ) {}

  static afterStatements(limit: number, ...exempt: Client[]): Killer {
    const query = Client.prototype.query as (...args: unknown[]) => unknown;
    const spy = jest.spyOn(Client.prototype, 'query');
    const killer = new Killer(limit, spy);
    spy.mockImplementation(function killable(this: Client, ...args: unknown[]) {
      if (exempt.includes(this)) {
        return query.apply(this, args);
      }
      if (killer.sent >= killer.limit) {
        killer.hasKilled = true;
        throw new Error('killed');
      }
      killer.sent += 1;
      return query.apply(this, args);
    } as never);
    return killer;
  }

  stop(): void {
    this.spy.mockRestore();
  }
}
