import { LRUCache } from 'lru-cache';

// Of callers and tenants that were seen lately.
const MOST_ANSWERS = 50_000;

/**
 * Answers of the database, remembered for some seconds while changes are heard. Those who ask
 * the same at the same time share one query.
 */
export class RememberedAnswers {
  readonly #answers: LRUCache<string, object>;
  readonly #underWay = new Map<string, Promise<object | undefined>>();
  readonly #hears: () => boolean;
  // Moves with each change: an answer from before must not be remembered.
  #generation = 0;

  constructor(options: { ttlMs: number; hears: () => boolean }) {
    this.#answers = new LRUCache({ max: MOST_ANSWERS, ttl: options.ttlMs });
    this.#hears = options.hears;
  }

  /** The answer to a question. That there is none is not remembered. */
  async find<T extends object>(
    question: string,
    ask: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = this.#answers.get(question) as T | undefined;
    return known ?? this.#ask(question, ask);
  }

  /** Has all later questions ask the database, and not share an earlier answer. */
  forget(): void {
    this.#generation += 1;
    this.#answers.clear();
    this.#underWay.clear();
  }

  #ask<T extends object>(
    question: string,
    ask: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const underWay = this.#underWay.get(question);
    if (underWay) {
      return underWay as Promise<T | undefined>;
    }
    const generation = this.#generation;
    const answer = ask()
      .then(found => {
        if (found && this.#hears() && generation === this.#generation) {
          this.#answers.set(question, found);
        }
        return found;
      })
      .finally(() => {
        if (this.#underWay.get(question) === answer) {
          this.#underWay.delete(question);
        }
      });
    this.#underWay.set(question, answer);
    return answer;
  }
}
