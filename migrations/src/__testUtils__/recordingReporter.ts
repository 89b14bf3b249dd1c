import type { Reporter } from '../Reporter';

/** What is called at the moment that something is reported. */
export interface ReporterHooks {
  onAdvance?: (what: string, count: number) => void;
  onFinish?: (what: string) => void;
  onWaiting?: (what: string, holders: string[]) => void;
}

/** A reporter that keeps what it was told. */
export interface RecordingReporter extends Reporter {
  infos: string[];
  warnings: string[];
  bars: { what: string; total: number; advances: number[] }[];
}

export function recordingReporter(
  hooks: ReporterHooks = {},
): RecordingReporter {
  const infos: string[] = [];
  const warnings: string[] = [];
  const bars: RecordingReporter['bars'] = [];
  return {
    infos,
    warnings,
    bars,
    info: message => infos.push(message),
    warn: message => warnings.push(message),
    waiting: (what, _attempts, holders) => hooks.onWaiting?.(what, holders),
    progress(what, total) {
      const advances: number[] = [];
      bars.push({ what, total, advances });
      return {
        advance(rows) {
          advances.push(rows);
          hooks.onAdvance?.(what, advances.length);
        },
        finish: () => hooks.onFinish?.(what),
      };
    },
  };
}
