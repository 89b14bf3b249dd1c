/** When the server was down on purpose, and a lost connection is no failure. */
export class Outages {
  private readonly ended: number[] = [];
  private running = 0;

  /** Whether the server was down at any time since then. */
  excuse(since: number): boolean {
    return this.running > 0 || this.ended.some(end => end >= since);
  }

  /** Takes the server down and up again. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.running += 1;
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.ended.push(Date.now());
    }
  }
}
