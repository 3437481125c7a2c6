// The text of one Bitbucket event, the type of the functions that write it, and the words that they share.
import { type EventText as Message, line, quote, shortHash, words } from 'svc-gateway/kit'
import type { Payload } from './payload.ts'

export interface EventText extends Message {
  /** Pull requests and issues are numbered separately: `pull-requests/7`, `issues/7`. */
  thing?: string | undefined
}

/** Returns `null` to skip the event. */
export type EventHandler = (payload: Payload, who: string) => EventText | null

const mostListed = 10

/** Describes the first elements of a list, and says how many there are more. */
export function listed<Item>(items: readonly Item[], describe: (item: Item) => string | string[]): string[] {
  const more = items.length - mostListed
  return [...items.slice(0, mostListed).flatMap(describe), more > 0 ? `- and ${more} more` : '']
}

type Text = string | null | undefined

/** A commit in one line. */
export const commitLine = (commit: { hash: Text; message: Text; author: Text }): string =>
  words(
    '-',
    shortHash(commit.hash),
    line(commit.message?.trimStart().split('\n', 1)[0]),
    line(commit.author, 100) && `(${line(commit.author, 100)})`,
  )

export const pullOf = ({ pullrequest: pull }: Payload): string => subjectOf('pull request', pull)
export const issueOf = ({ issue }: Payload): string => subjectOf('issue', issue)

const subjectOf = (kind: string, subject: Payload['pullrequest'] | Payload['issue']): string =>
  words(kind, subject?.id ? `#${subject.id}` : '', quote(subject?.title))

export const aboutPull = ({ pullrequest: pull }: Payload): Pick<EventText, 'link' | 'thing'> => ({
  link: pull?.links?.html?.href,
  thing: pull?.id ? `pull-requests/${pull.id}` : undefined,
})

export const aboutIssue = ({ issue }: Payload): Pick<EventText, 'link' | 'thing'> => ({
  link: issue?.links?.html?.href,
  thing: issue?.id ? `issues/${issue.id}` : undefined,
})

/** The hash of the commit that a comment is about. Data Center sends only the hash. */
export const commitOf = ({ commit }: Payload): Text => (typeof commit === 'object' ? commit?.hash : commit)

export const describePull =
  (verb: string): EventHandler =>
  (payload, who) => ({ ...aboutPull(payload), head: `${who} ${verb} ${pullOf(payload)}` })

/** Accounts of apps, and in Data Center those of the access tokens of projects and repositories. */
const bots: ReadonlySet<unknown> = new Set(['app_user', 'SERVICE'])

/** Comments of apps are skipped: an agent that comments would otherwise answer its own comments. */
export function describeComment(head: string, payload: Payload): EventText | null {
  const { comment, actor, pullrequest, issue } = payload
  if (bots.has((comment?.user ?? actor)?.type)) return null
  const about = pullrequest ? aboutPull(payload) : issue ? aboutIssue(payload) : {}
  return { ...about, head, link: comment?.links?.html?.href ?? about.link, text: comment?.content?.raw }
}
