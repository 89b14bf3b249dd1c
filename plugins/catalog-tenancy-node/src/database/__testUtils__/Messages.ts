/** Splits a stream into the messages of the protocol. */
export class Messages {
  #rest: Buffer = Buffer.alloc(0);
  /** The first message of an application has no type. */
  #untyped: boolean;

  constructor(startsUntyped: boolean) {
    this.#untyped = startsUntyped;
  }

  *read(chunk: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const typeLength = this.#untyped ? 0 : 1;
      if (this.#rest.length < typeLength + 4) {
        return;
      }
      const length = typeLength + this.#rest.readInt32BE(typeLength);
      if (this.#rest.length < length) {
        return;
      }
      const message = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      this.#untyped = false;
      yield message;
    }
  }
}
