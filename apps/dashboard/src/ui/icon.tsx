/** The drawing of each icon: strokes on a grid of 16. */
const STROKES = {
  overview: 'M2 13.5h12M4 11V8.5M8 11V3.5M12 11V6',
  endpoint: 'M6 3v3M10 3v3M4.5 6h7v2.5a3.5 3.5 0 0 1-7 0zM8 12v2.5',
  events: 'M2.5 4h11M2.5 8h11M2.5 12h6',
  catalog: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  bell: 'M4 7a4 4 0 0 1 8 0c0 3.5 1.5 4.5 1.5 4.5h-11S4 10.5 4 7M6.7 13.8a1.5 1.5 0 0 0 2.6 0',
  key: 'M8.9 7.1 14 2M11.5 4.5l2 2M9.8 10.3a3.3 3.3 0 1 1-6.6 0 3.3 3.3 0 0 1 6.6 0',
  code: 'm5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  light:
    'M8 1.5v1.2M8 13.3v1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M1.5 8h1.2M13.3 8h1.2M3.4 12.6l.9-.9M11.7 4.3l.9-.9M10.7 8a2.7 2.7 0 1 1-5.4 0 2.7 2.7 0 0 1 5.4 0',
  dark: 'M13.5 9.3A5.7 5.7 0 0 1 6.7 2.5a5.7 5.7 0 1 0 6.8 6.8',
  system: 'M2 3h12v8H2zM5.5 13.5h5M8 11v2.5',
  leave: 'M6.5 13.5H3v-11h3.5M10.5 11l3-3-3-3M13.5 8h-7',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  check: 'm3 8.5 3.2 3L13 4.5',
  cross: 'm4 4 8 8M12 4l-8 8',
  clock: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0M8 4.7V8l2.2 1.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.5 8z',
  replay: 'M3 8a5 5 0 1 1 1.6 3.7M3 4.5V8h3.5',
  search: 'm13.5 13.5-3-3M12 7a5 5 0 1 1-10 0 5 5 0 0 1 10 0',
  down: 'm4 6 4 4 4-4',
  up: 'm4 10 4-4 4 4',
  right: 'm6 4 4 4-4 4',
  left: 'm10 4-4 4 4 4',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.6 9h6.8l.6-9M6.7 7v4M9.3 7v4',
  edit: 'm3 13 .7-3L10.8 3l2.3 2.3L6 12.4zM9.3 4.5l2.3 2.3',
  warning: 'M8 2.2 14.3 13H1.7zM8 6.3v3M8 11.2h.01',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  send: 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5z',
  shield: 'M8 1.8 13 3.6V8c0 3-2 5.2-5 6.2C5 13.2 3 11 3 8V3.6zM5.7 8l1.6 1.6L10.4 6.4',
  readers: 'M3 2.5v11M6.5 4.5h7M6.5 8h4.5M6.5 11.5h7',
  recover: 'M2 12.5h12M8 2v7M5 6.2 8 9.2l3-3',
  widget: 'M2.5 3h11v8H8l-3 2.7V11H2.5z',
} as const;

export type IconName = keyof typeof STROKES;

/** A decoration. Its meaning is in the text next to it, or in the label of its parent. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={STROKES[name]} fill="none" stroke="currentColor" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
