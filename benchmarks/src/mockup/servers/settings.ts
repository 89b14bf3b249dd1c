/** What every server of this benchmark is told. */
export interface ServerSettings {
  connection: {
    host: string;
    port: number;
    user: string;
    password: string;
    database: string;
  };
}
