// The icons of the page: simple outlines, drawn on a grid of 16 by 16.
const paths = {
  home: 'M2.5 7.2 8 2.8l5.5 4.4M4 6.5V13h8V6.5',
  requests: 'M8 2v7M5 6.2 8 9.2l3-3M2.5 10.5V13h11v-2.5',
  runs: 'M5 3.5 12 8l-7 4.5z',
  sessions: 'M2.5 3.5h11v7H8l-3 2.5v-2.5H2.5z',
  tools: 'M9.8 6.2 13 3a3.2 3.2 0 0 0-4.3 4L3 12.7 4.3 14l5.7-5.7A3.2 3.2 0 0 0 14 4z',
  hooks: 'M6 3v4a3 3 0 1 0 3 3M9 10h4M9.5 3v3.5',
  channels: 'M3 6.5v3h2l4 3v-9l-4 3zM11.5 6a3 3 0 0 1 0 4',
  outbox: 'M8 9.5v-7M5 5.3l3-3 3 3M2.5 10.5V13h11v-2.5',
  schedules: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3.2l2 1.3',
  log: 'M3 4h10M3 8h10M3 12h6',
  workbench: 'M2.5 3.5h4v9h-4zM9.5 3.5h4M9.5 6.5h4M9.5 9.5h2.5',
  config: 'M3 5h5M11 5h2M3 11h2M8 11h5M9.5 3.5v3M6.5 9.5v3',
  approvals: 'M3 8.5 6.5 12 13 4.5',
  usage: 'M3 13V9M6.5 13V5M10 13V7.5M13.5 13V3',
  audit: 'M4 2.5h6l2.5 2.5v8.5h-8.5zM6 7h4M6 10h4',
  extensions: 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z',
  search: 'M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8M10 10l3 3',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  close: 'M4 4l8 8M12 4l-8 8',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  replay: 'M12.8 8a4.8 4.8 0 1 1-1.4-3.4L13 6M13 3v3h-3',
  warning: 'M8 2.5 14 13H2zM8 6.5v3M8 11v.6',
  info: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 7.3v3.5M8 5v.6',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
  moon: 'M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5',
  keyboard: 'M2 4.5h12v7H2zM4.5 7h.5M7 7h.5M9.5 7h.5M5.5 9.5h5',
  exit: 'M6.5 3H3.5v10h3M7 8h6M10.5 5.5 13 8l-2.5 2.5',
  stop: 'M4.5 4.5h7v7h-7z',
  send: 'M3 8l10-5-3.5 10L7.5 9z',
  plus: 'M8 3.5v9M3.5 8h9',
  open: 'M6 4l4 4-4 4',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" fill="none">
      <path d={paths[name]} stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  )
}

/** The mark of the product. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" class="mark" fill="#4f46e5" />
      <path d="M8 11h9a5 5 0 0 1 0 10H8" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" />
      <circle cx="24" cy="16" r="2.2" fill="#fff" />
    </svg>
  )
}
