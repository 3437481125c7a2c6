// Lists sessions, shows one with its waiting events and its transcript, and deletes one.
import { type CommandContext, CommandError, exitCodes } from 'svc-gateway/plugin'

type Context = CommandContext<'control'>

/** One item of `GET /api/sessions`. */
interface SessionLine {
  key: string
  agentId: string
  updatedAt: string
}

/** The response of `GET /api/sessions/<key>`. */
interface WholeSession extends SessionLine {
  lastRoute?: { channel: string; to: string; accountId: string; at: string }
  events: readonly { text: string; mode: string; at: string }[]
  waitingEvents: number
  transcript: readonly { role: string; text: string; at: string }[]
  next?: string
}

export async function listSessions(
  { agent, limit, json }: { agent?: string; limit: number; json?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  await terminal.printList(control.list<SessionLine>('/api/sessions', { agentId: agent }), {
    noun: 'sessions',
    limit,
    json,
    columns: {
      SESSION: ({ key }) => key,
      AGENT: ({ agentId }) => agentId,
      UPDATED: ({ updatedAt }) => updatedAt,
    },
  })
}

export async function showSession(
  { key, limit, json }: { key: string; limit: number; json?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(key)}?limit=${Math.min(limit, 200)}`
  const session = await control.get<WholeSession>(path)
  if (json) return terminal.printJson(session)
  const { lastRoute, events, waitingEvents, transcript, next } = session
  terminal.printFields({
    session: session.key,
    agent: session.agentId,
    updated: session.updatedAt,
    'last route': lastRoute && `${lastRoute.to} on ${lastRoute.channel}, account ${lastRoute.accountId}`,
    events: waitingEvents > 0 ? `${waitingEvents} waiting` : undefined,
  })
  const printEntry = (head: string, text: string): void =>
    terminal.print(`\n${head}\n${text.replaceAll(/^/gm, '    ')}`)
  for (const { text, at, mode } of events) printEntry(`${at}  event (${mode})`, text)
  if (next !== undefined) terminal.notify('The transcript has earlier lines; use --limit to see more.')
  for (const { role, text, at } of transcript) printEntry(`${at}  ${role}`, text)
}

export async function deleteSession(
  { key, yes, json }: { key: string; yes?: boolean; json?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(key)}`
  if (!yes) await confirm(await control.get<SessionLine>(path), { terminal, isAsked: !json && terminal.isInteractive })
  const deleted = await control.delete<{ key: string }>(path)
  if (json) terminal.printJson(deleted)
  else terminal.print(`Deleted ${deleted.key}.`)
}

async function confirm(
  { key }: SessionLine,
  { terminal, isAsked }: Pick<Context, 'terminal'> & { isAsked: boolean },
): Promise<void> {
  if (!isAsked) throw new CommandError(`Nothing was deleted. To delete ${key}, run the command again with --yes.`)
  const answers = [
    { value: false, label: 'No, keep it' },
    { value: true, label: 'Yes' },
  ]
  if (!(await terminal.choose(`Delete ${key} with its transcript and its runs?`, answers)))
    throw new CommandError('Nothing was deleted.', exitCodes.interrupted)
}
