// Renders the system prompt and the user message of a turn. Text from outside is wrapped as external content.
import { wrapExternalContent, externalContentNotice } from '../sessions/external-content.ts'
import { isFromHook, type RunSpec } from '../store/run-spec.ts'
import type { StoredEvent } from '../store/store.ts'
import type { Agent } from './agents.ts'

/** How many events and characters one turn renders at most. The rest waits for the next turn. */
export const eventBatch = { count: 100, characters: 64 * 1024 } as const

/** `restriction`: what the texts that the turn sees take away. It comes last, because it changes. */
export function renderSystemPrompt(agent: Agent, restriction?: Restriction): string {
  return [
    agent.systemPrompt ?? `You are ${agent.name}, an agent that people and systems reach through svc-gateway.`,
    externalContentNotice,
    ...(restriction ? [renderRestriction(restriction)] : []),
  ].join('\n\n')
}

export interface PromptInput {
  spec: RunSpec
  events: readonly StoredEvent[]
  /** The heartbeat notes, if any. */
  notes?: string | undefined
}

export interface Restriction {
  /** What happens to calls of these tools. */
  mode: 'deny' | 'ask'
  /** Which texts are the reason, in words. */
  because: string
  tools: readonly string[]
  /** True: some of the texts came from outside. */
  isExternal: boolean
}

/** The user message of the turn. */
export function renderPrompt({ spec, events, notes }: PromptInput): string {
  const renderedNotes = notes ? `Notes for periodic checks (HEARTBEAT.md):\n${notes}` : ''
  return [renderEvents(events), renderedNotes, renderQuote(spec), renderTask(spec)].filter(Boolean).join('\n\n')
}

/** Lets the agent report what it could not do, instead of trying again and again. */
function renderRestriction({ mode, because, tools, isExternal }: Restriction): string {
  const [names, isAsking] = [tools.join(', '), mode === 'ask']
  const sends = isExternal
    ? ['You may read private data such as files, but messages go only to the people in this']
    : []
  return [
    `This conversation holds ${because}, so this turn is restricted.`,
    ...(names ? [isAsking ? `A person must approve calls of: ${names}.` : `These tools are withheld: ${names}.`] : []),
    ...sends.map(
      (text) => `${text} conversation, and public pages are not fetched${isAsking ? ' without approval' : ''}.`,
    ),
    ...(isAsking ? [] : ['If something needs more than that, say so: it works in a new conversation (/new).']),
  ].join(' ')
}

/** Other people's text is wrapped even if they are trusted: the task is what the sender says about it. */
function renderQuote({ quoted, origin }: RunSpec): string {
  if (!quoted) return ''
  const { text, isOwn, isExternal, from } = quoted
  const head = isOwn ? 'The message below answers this one, which you wrote:' : 'The message below answers this one:'
  if (isOwn && !isExternal) return `${head}\n${text.replace(/^/gm, '> ')}`
  return `${head}\n${wrapExternalContent({ text, source: `quoted on ${origin.name}`, subject: from })}`
}

function renderTask(spec: RunSpec): string {
  const { message: text, name: subject, origin, forwarded } = spec
  const { kind, name, trusted, stranger } = origin
  const sender = renderSender(spec)
  if (forwarded && trusted) {
    const wrapped = wrapExternalContent({ text, source: `forwarded on ${name}`, subject: forwarded.from })
    return `${sender}\nThe sender passes on this message of somebody else:\n${wrapped}`.trimStart()
  }
  if (trusted || !isFromHook(origin)) return sender === '' ? text : `${sender}\nThe message:\n${text}`
  if (kind === 'hook')
    return `A webhook asks for a reply to this:\n${wrapExternalContent({ text, source: `webhook ${name}`, subject })}`
  const wrapped = wrapExternalContent({ text, source: `${kind} ${name}`, subject })
  if (kind === 'channel') return `${sender}\nA stranger asks for a reply to this:\n${wrapped}`.trimStart()
  return `A session that a ${stranger ? 'stranger' : 'webhook'} started asks for a reply to this:\n${wrapped}`
}

/** People choose their display names, so a name is external content even when its owner is trusted. */
function renderSender({ senderName, origin }: RunSpec): string {
  if (senderName === undefined) return ''
  const wrapped = wrapExternalContent({ text: senderName, source: `channel ${origin.name}` })
  return `The name of the sender:\n${wrapped}`
}

function renderEvents(events: readonly StoredEvent[]): string {
  if (events.length === 0) return ''
  const lines = events.map((event) => {
    const head = `Event of ${new Date(event.at).toISOString()}:`
    return event.trusted
      ? `${head} ${event.text}`
      : `${head}\n${wrapExternalContent({ text: event.text, source: event.source })}`
  })
  const count = events.length === 1 ? 'One event' : `${events.length} events`
  return `${count} since the last turn, oldest first.\n${lines.join('\n')}`
}
