import type { Socket } from 'net';
import { Messages } from './Messages';

/** Where a connection is cut. */
export interface Cut {
  /** Whose messages count. */
  side: 'frontend' | 'backend';
  /** The message, counted from 1 and from now on. */
  message: number;
  /** `within`: half of it arrives. */
  when: 'before' | 'within' | 'after';
}

interface LinkOptions {
  onRoundTrip: () => void;
  onRequest: (message: Buffer) => Buffer;
  cutBefore: (side: Cut['side']) => Cut['when'] | undefined;
  isFrozen: () => boolean;
}

/** A connection, and its continuation to PostgreSQL. */
export class Link {
  isCut = false;
  /** Nothing gets through any more, and it is not closed. */
  isFrozen = false;
  /** PostgreSQL has ended the session. */
  readonly closed: Promise<unknown>;

  #lastSpeaker: Cut['side'] = 'backend';

  constructor(
    readonly client: Socket,
    readonly server: Socket,
    readonly options: LinkOptions,
  ) {
    this.closed = new Promise(resolve => server.once('close', resolve));
    client.setNoDelay(true);
    server.setNoDelay(true);
    this.#forward('frontend', client, server);
    this.#forward('backend', server, client);
    client.on('error', () => undefined).on('close', () => this.cut());
    server
      .on('error', () => undefined)
      .on('close', () => {
        this.isCut = true;
        if (!this.#isSilent) {
          client.end();
        }
      });
  }

  get #isSilent(): boolean {
    return this.isFrozen || this.options.isFrozen();
  }

  cut(): void {
    this.isCut = true;
    this.client.destroy();
    // What it has got, it does, and then it finds that nobody is there.
    this.server.end();
    this.server.resume();
  }

  #forward(side: Cut['side'], from: Socket, to: Socket): void {
    const messages = new Messages(side === 'frontend');
    from.on('data', (chunk: Buffer) => {
      if (this.#isSilent) {
        return;
      }
      if (side === 'frontend' && this.#lastSpeaker === 'backend') {
        this.options.onRoundTrip();
      }
      this.#lastSpeaker = side;
      for (const message of messages.read(chunk)) {
        if (this.isCut) {
          return;
        }
        const forwarded =
          side === 'frontend' ? this.options.onRequest(message) : message;
        this.#forwardMessage(side, forwarded, to);
      }
    });
  }

  #forwardMessage(side: Cut['side'], message: Buffer, to: Socket): void {
    const when = this.options.cutBefore(side);
    const sent = {
      before: 0,
      within: Math.floor(message.length / 2),
      after: message.length,
    }[when ?? 'after'];
    to.write(message.subarray(0, sent));
    if (!when) {
      return;
    }
    if (side === 'backend') {
      // Or the application would not get the last of it.
      this.isCut = true;
      this.client.end(() => this.cut());
      return;
    }
    this.cut();
  }
}
