import { withDeadline } from '@internal/postgres/testUtils';
import { once } from 'node:events';
import { Query } from 'pg';
import type { Client, Connection } from 'pg';

interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

class StreamedQuery extends Query {
  connection?: CopyConnection;

  // Called by the client of pg, which fails a COPY whose query lacks this method.
  handleCopyInResponse(connection: CopyConnection): void {
    this.connection = connection;
    this.emit('ready');
  }
}

/** COPY … FROM STDIN, under way until the caller ends it. */
export class CopyIn {
  /** Resolves once the server takes rows. */
  static async begin(client: Client, statement: string): Promise<CopyIn> {
    const query = new StreamedQuery(statement);
    const copy = new CopyIn(query);
    client.query(query);
    await withDeadline(
      'the server to take rows',
      Promise.race([once(query, 'ready'), copy.ended]),
    );
    return copy;
  }

  private readonly ended: Promise<unknown>;

  private constructor(private readonly query: StreamedQuery) {
    this.ended = once(query, 'end');
    this.ended.catch(() => undefined);
  }

  /** Sends a row in the text format. */
  send(...columns: string[]): void {
    this.query.connection?.sendCopyFromChunk(
      Buffer.from(`${columns.join('\t')}\n`),
    );
  }

  /** Resolves once the statement is done. */
  async end(): Promise<void> {
    this.query.connection?.endCopyFrom();
    await this.ended;
  }
}
