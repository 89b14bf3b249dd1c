import { once } from 'events';
import { connect, createServer } from 'net';
import type { AddressInfo, Server, Socket } from 'net';
import type { ClientConfig } from 'pg';
import { Link } from './Link';
import type { Cut } from './Link';

/**
 * Stands between the application and PostgreSQL, reads the protocol, and cuts
 * connections where it is told to.
 *
 * PostgreSQL still gets what came before the cut, and does it.
 */
export class WireProxy {
  /** How often the application has spoken, and waited for an answer then. */
  roundTrips = 0;

  /** How many connections it has accepted. */
  accepted = 0;

  readonly #server: Server;
  readonly #target: ClientConfig;
  readonly #links = new Set<Link>();
  #cut: Cut | undefined;
  #spoiled: string | undefined;
  #isFrozen = false;

  static async start(target: ClientConfig): Promise<WireProxy> {
    const proxy = new WireProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(target: ClientConfig) {
    this.#target = target;
    this.#server = createServer(socket => this.#accept(socket));
  }

  /** The connection to PostgreSQL by way of the proxy. */
  get connection(): ClientConfig {
    const { port } = this.#server.address() as AddressInfo;
    return { ...this.#target, host: '127.0.0.1', port };
  }

  get connections(): number {
    return this.#links.size;
  }

  /** A cut is due that has not been made. */
  get armed(): boolean {
    return this.#cut !== undefined;
  }

  /** Cuts one connection, whichever comes to the message first. */
  cutAt(cut: Cut | undefined): void {
    this.#cut = cut && { ...cut };
  }

  /**
   * Makes PostgreSQL refuse the next message with this word in it, by one that it
   * does not know.
   */
  spoil(word: string | undefined): void {
    this.#spoiled = word;
  }

  /** A message is to be spoiled that has not come. */
  get spoiling(): boolean {
    return this.#spoiled !== undefined;
  }

  /** Nothing gets through any more, and no connection is closed, as by a network. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** The same of the connections that are there; new ones get through. */
  freezeOld(): void {
    this.#links.forEach(link => {
      link.isFrozen = true;
    });
  }

  /** New connections get through; those from before are cut. */
  thaw(): void {
    this.#isFrozen = false;
    this.cutAll();
  }

  cutAll(): void {
    this.#links.forEach(link => link.cut());
  }

  /** Waits until PostgreSQL is done with all connections that are cut. */
  async settled(): Promise<void> {
    await Promise.all(
      [...this.#links].filter(link => link.isCut).map(link => link.closed),
    );
  }

  /** Waits until all connections have ended. */
  async quiet(): Promise<void> {
    await Promise.all([...this.#links].map(link => link.closed));
  }

  async close(): Promise<void> {
    this.cutAll();
    await this.quiet();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    const { host, port } = this.#target;
    const link = new Link(client, connect(Number(port), host), {
      onRoundTrip: () => {
        this.roundTrips += 1;
      },
      cutBefore: side => this.#cutAt(side),
      onRequest: message => this.#spoil(message),
      isFrozen: () => this.#isFrozen,
    });
    this.#links.add(link);
    link.closed.then(() => this.#links.delete(link));
  }

  #spoil(message: Buffer): Buffer {
    const at = this.#spoiled ? message.indexOf(this.#spoiled) : -1;
    if (at < 0) {
      return message;
    }
    this.#spoiled = undefined;
    const spoiled = Buffer.from(message);
    spoiled.write('!', at);
    return spoiled;
  }

  #cutAt(side: Cut['side']): Cut['when'] | undefined {
    if (this.#cut?.side !== side) {
      return undefined;
    }
    this.#cut.message -= 1;
    if (this.#cut.message > 0) {
      return undefined;
    }
    const { when } = this.#cut;
    this.#cut = undefined;
    return when;
  }
}
