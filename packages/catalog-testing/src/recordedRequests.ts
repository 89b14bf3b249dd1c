import { readFileSync } from 'node:fs';

/** A request that a page has sent. */
export interface RecordedRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** It was sent after some answer to the step before, and none to its own step. */
  step: number;
}

/** A page, or something that is done on it, and what it asks for. */
export interface RecordedView {
  what: string;
  requests: RecordedRequest[];
}

const LINE = /^(?:(\d+) )?(GET|POST) (\S+)(?: (\{.*\}))?$/;

/**
 * Reads what Chromium has recorded: below a heading for each view, as `# entity page`, a request in
 * each line, as `2 POST /path {"its": "body"}`. The step may be left out.
 */
export function readRecorded(file: string): RecordedView[] {
  const [, ...views] = readFileSync(file, 'utf8').split(/^# /m);
  return views.map(view => {
    const [what, ...lines] = view.trimEnd().split('\n');
    return { what, requests: lines.map(toRequest) };
  });
}

function toRequest(line: string): RecordedRequest {
  const [, step = '0', method, path, body] = LINE.exec(line) ?? [];
  if (!path) {
    throw new Error(`This line is no recorded request: ${line}`);
  }
  return {
    method: method as RecordedRequest['method'],
    path,
    step: Number(step),
    ...(body && { body: JSON.parse(body) }),
  };
}
