// The command `sessions`: lists sessions, and shows one with its waiting events and its transcript.
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeForTerminal } from '../../kit/escape-for-terminal.ts'
import { listPages } from './list-pages.ts'
import { type ListOptions, printFields, printList } from './output.ts'

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

type SessionsOptions = ControlOptions & ListOptions & { agent?: string }

export async function listSessions({ agent, ...options }: SessionsOptions): Promise<void> {
  const sessions = listPages<SessionLine>(openControl(options), '/api/sessions', { agentId: agent })
  await printList(sessions, options, {
    noun: 'sessions',
    columns: [
      { title: 'SESSION', text: ({ key }) => key },
      { title: 'AGENT', text: ({ agentId }) => agentId },
      { title: 'UPDATED', text: ({ updatedAt }) => updatedAt },
    ],
  })
}

export async function showSession(
  key: string,
  { limit, json, ...options }: ControlOptions & ListOptions,
): Promise<void> {
  const path = `/api/sessions/${encodeURIComponent(key)}?limit=${Math.min(limit, 200)}`
  const session = (await openControl(options).get(path)) as WholeSession
  if (json) return void process.stdout.write(`${JSON.stringify(session)}\n`)
  const { lastRoute, events, waitingEvents, transcript, next } = session
  printFields({
    session: session.key,
    agent: session.agentId,
    updated: session.updatedAt,
    'last route': lastRoute && `${lastRoute.to} on ${lastRoute.channel}, account ${lastRoute.accountId}`,
    events: waitingEvents > 0 ? `${waitingEvents} waiting` : undefined,
  })
  for (const { text, at, mode } of events) printLine(`${at}  event (${mode})`, text)
  if (next !== undefined) process.stderr.write('The transcript has earlier lines; use --limit to see more.\n')
  for (const { role, text, at } of transcript) printLine(`${at}  ${role}`, text)
}

const printLine = (head: string, text: string): boolean =>
  process.stdout.write(`\n${head}\n${escapeForTerminal(text).replaceAll(/^/gm, '    ')}\n`)
