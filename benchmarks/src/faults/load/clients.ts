import type { Caller } from './Caller';

/** Asks for something again and again, and checks what it gets. */
export interface Client {
  /** @throws Error that says what is wrong about an answer */
  step(caller: Caller): Promise<void>;
}
