import type { Transaction } from '../Transaction';

/** What a writer does in one transaction, or in a part of one. */
export interface Scenario {
  name: string;
  /** How often, compared with others. */
  weight: number;
  run(transaction: Transaction): Promise<void>;
}
