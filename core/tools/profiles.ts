// The built-in names of the tool policy: profiles and groups.

export const profiles: Readonly<Record<'minimal' | 'coding' | 'messaging' | 'full', readonly string[]>> = {
  minimal: ['session_status'],
  coding: ['group:fs', 'group:runtime', 'group:sessions', 'group:web', 'cron'],
  messaging: ['message', 'sessions_list', 'sessions_history', 'sessions_send', 'session_status'],
  full: ['*'],
}

/** Groups and the tools that they contain. A tool may declare another group in addition. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  sessions: ['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'session_status', 'agents_list'],
  fs: ['read', 'write', 'edit', 'list'],
  runtime: ['exec'],
  web: ['web_fetch'],
  automation: ['cron', 'gateway'],
  messaging: ['message'],
  channels: ['whatsapp_login'],
}
