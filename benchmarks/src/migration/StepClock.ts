import { phases, silentReporter } from './engine';

/** What a step is told by; the engine announces each when it begins. */
interface StepId {
  name: string;
  title: string;
}

/** How long a step took. */
export interface StepTime {
  name: string;
  seconds: number;
}

/** Ends a command between two steps. */
export class Stopped extends Error {}

/** A reporter that measures the steps of a command. */
export class StepClock {
  readonly reporter: typeof silentReporter;
  readonly #times: StepTime[] = [];
  readonly #now: () => number;
  #current?: { name: string; since: number };

  /** @param stopBefore - the step before which the command is ended */
  constructor(options: { stopBefore?: StepId; now?: () => number } = {}) {
    this.#now = options.now ?? (() => performance.now());
    const steps: StepId[] = phases.flatMap(phase => phase.steps);
    this.reporter = {
      ...silentReporter,
      info: message => {
        const step = steps.find(({ title }) =>
          [title, `Undo: ${title}`].includes(message),
        );
        if (!step) {
          return;
        }
        this.#finish();
        if (step.name === options.stopBefore?.name) {
          throw new Stopped(`Stopped before ${step.name}`);
        }
        this.#current = { name: step.name, since: this.#now() };
      },
    };
  }

  /** The steps in their order; the last one ends now if nothing followed it. */
  times(): StepTime[] {
    this.#finish();
    return this.#times;
  }

  /** Seconds of some steps together. */
  secondsOf(steps: StepId[]): number {
    const names = steps.map(({ name }) => name);
    return this.times()
      .filter(({ name }) => names.includes(name))
      .reduce((sum, { seconds }) => sum + seconds, 0);
  }

  #finish(): void {
    if (this.#current) {
      const { name, since } = this.#current;
      this.#times.push({ name, seconds: (this.#now() - since) / 1000 });
      this.#current = undefined;
    }
  }
}
