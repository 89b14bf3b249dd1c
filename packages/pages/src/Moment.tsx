import { appLanguageApiRef, useApi } from '@backstage/frontend-plugin-api';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A time: how long ago it is, and when exactly. */
export function Moment({ at }: { at: string }) {
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const date = new Date(at);
  const exact = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'medium',
  }).format(date);
  const seconds = Math.round((date.getTime() - Date.now()) / 1000);
  const [unit, size] =
    UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS[3];
  const relative = new Intl.RelativeTimeFormat(language, {
    numeric: 'auto',
  }).format(Math.trunc(seconds / size), unit);
  return (
    <time dateTime={at}>
      {relative} ({exact})
    </time>
  );
}
