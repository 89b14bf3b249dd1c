import { appLanguageApiRef, useApi } from '@backstage/frontend-plugin-api';
import { useMemo } from 'react';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Formats a time to the second, in the language of the page. */
export function useExactTime(): (at: string) => string {
  const { language } = useApi(appLanguageApiRef).getLanguage();
  return useMemo(() => {
    const { format } = new Intl.DateTimeFormat(language, {
      dateStyle: 'medium',
      timeStyle: 'medium',
    });
    return at => format(new Date(at));
  }, [language]);
}

/** Formats a day such as `2026-11-20`, in the language of the page. */
export function useDay(): (day: string) => string {
  const { language } = useApi(appLanguageApiRef).getLanguage();
  return useMemo(() => {
    const { format } = new Intl.DateTimeFormat(language, {
      dateStyle: 'medium',
      // It is the same day everywhere.
      timeZone: 'UTC',
    });
    return day => format(new Date(day));
  }, [language]);
}

/** Formats a number, in the language of the page. */
export function useNumber(): (value: number) => string {
  const { language } = useApi(appLanguageApiRef).getLanguage();
  return useMemo(() => new Intl.NumberFormat(language).format, [language]);
}

/** A time: how long ago it is, and when exactly. */
export function Moment(props: {
  at: string;
  /** Whether there is little room: when exactly is in a tooltip. */
  brief?: boolean;
}) {
  const { at, brief } = props;
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const exact = useExactTime()(at);
  const seconds = Math.round((new Date(at).getTime() - Date.now()) / 1000);
  const [unit, size] =
    UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS[3];
  const relative = new Intl.RelativeTimeFormat(language, {
    numeric: 'auto',
  }).format(Math.trunc(seconds / size), unit);
  return (
    <time dateTime={at} title={brief ? exact : undefined}>
      {brief ? relative : `${relative} (${exact})`}
    </time>
  );
}
