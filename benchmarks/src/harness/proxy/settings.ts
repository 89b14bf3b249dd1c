/** Where to pass on to, and how long answers wait. */
export interface ProxySettings {
  host: string;
  port: number;
  rttMs: number;
}
