import { cpus, loadavg, totalmem } from 'node:os';

/** What the figures depend on beside the code. */
export interface Machine {
  date: string;
  node: string;
  platform: string;
  cpu: string;
  cores: number;
  memoryGiB: number;
  /** How busy the machine was when the run began. */
  loadAverage: number;
}

/** Describes this machine. */
export function describeMachine(): Machine {
  const cores = cpus();
  return {
    date: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: loadavg()[0],
  };
}
