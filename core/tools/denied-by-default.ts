// Tools that subagents, webhooks and HTTP clients may not use unless the configuration allows it.

/** Tools with which a subagent could control the sessions and the gateway that started it. */
export const deniedToSubagents: readonly string[] = [
  'gateway',
  'agents_list',
  'whatsapp_login',
  'session_status',
  'cron',
  'sessions_send',
  'sessions_spawn',
  'sessions_list',
  'sessions_history',
]

/** The login tools of all channels: whoever uses one controls an account. */
export const loginTools: readonly string[] = ['group:channels']

/** Tools with which external content could do lasting harm or read other conversations. */
export const deniedToHooks: readonly string[] = [
  'exec',
  'gateway',
  'cron',
  'write',
  'edit',
  'sessions_list',
  'sessions_history',
]

/** Tools whose effect goes beyond the client's call. */
export const deniedToHttp: readonly string[] = ['sessions_spawn', 'sessions_send', 'gateway', 'whatsapp_login']
