import recorded from './recorded.json';

/** A request that a page has sent, addressed within the plugin. */
export interface RecordedRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  /** It was sent when something of the step before was answered, and nothing of its own. */
  step: number;
}

/** A page, or something that is done on it, and what it asks of the catalog. */
export interface View {
  what: string;
  requests: RecordedRequest[];
}

/** What `dev/recordPages.ts` has recorded. */
export const views = recorded as View[];
