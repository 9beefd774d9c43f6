const zone = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
const wholeTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const clockTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const dayOnly = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const minuteOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const dayAndMinute = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns the local time, with the date unless it is the day of `nowMs`. */
export function localTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return (isToday ? clockTime : dayAndTime).format(at);
}

/** `14:05 CET`: the local time to the minute, with its zone. */
export function zonedTime(iso: string): string {
  return zone.format(new Date(iso));
}

/** The whole local time with its zone, and the time that the api gave. */
export function fullTime(iso: string): string {
  return `${wholeTime.format(new Date(iso))} · ${iso}`;
}

/** Returns the name of the local zone at a moment: `CET`, `GMT+5:30`. */
export function zoneName(atMs: number): string {
  return zone.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

export function localDay(iso: string): string {
  return dayOnly.format(new Date(iso));
}

/** Returns a time for the axis of a chart: to the minute, with the day if the chart spans several. */
export function axisTime(iso: string, spansDays: boolean): string {
  return (spansDays ? dayAndMinute : minuteOfDay).format(new Date(iso));
}

/** `4 s ago`, `in 3 min`: how far off a moment is, in the largest unit that fits. */
export function relativeTime(iso: string, nowMs: number): string {
  const seconds = Math.round((new Date(iso).getTime() - nowMs) / 1_000);
  if (Math.abs(seconds) < 2) return 'now';
  const text = durationText(Math.abs(seconds));
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** `45 s`, `3 min`, `2 h`, `4 d` */
export function durationText(seconds: number): string {
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.floor(seconds / DAY)} d`;
}

/** `1:05`, `1:02:09`: a running timer. */
export function timerText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / HOUR), Math.floor((whole % HOUR) / MINUTE), whole % MINUTE];
  const padded = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${minutes}:${padded(rest)}`;
}

/** `840 ms`, `1.2 s`, `3 min` */
export function millisecondsText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s` : durationText(Math.round(ms / 1_000));
}
