// What Linear sends only to an app that acts as an agent: its notifications, and the sessions that people start with it.
import { entryOf, eventMessage, fieldsOf, line, Maybe, quote, textOf, words } from 'svc-gateway/kit'
import { type ActionOverrides, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Named = Maybe(Type.Object({ name: Text }))
const Issue = Maybe(Type.Object({ id: Text, identifier: Text, title: Text, url: Text, description: Text }))
const Remark = Maybe(Type.Object({ body: Text }))

export const appEventFields = {
  notification: Maybe(
    Type.Object({
      id: Text,
      actor: Named,
      issue: Issue,
      issueId: Text,
      comment: Remark,
      project: Maybe(Type.Object({ id: Text, name: Text, url: Text })),
      projectUpdate: Maybe(Type.Object({ id: Text, body: Text })),
      document: Maybe(Type.Object({ id: Text, title: Text })),
      reactionEmoji: Text,
    }),
  ),
  agentSession: Maybe(
    Type.Object({
      id: Text,
      creator: Named,
      issue: Issue,
      issueId: Text,
      comment: Remark,
      url: Text,
    }),
  ),
  agentActivity: Maybe(Type.Object({ content: Type.Optional(Type.Unknown()), user: Named, signal: Text })),
  promptContext: Text,
}
const AppEvent = Type.Object({ action: Type.String(), ...appEventFields })
type AppEvent = Static<typeof AppEvent>

/** By type. */
export const appEvents: Readonly<Record<string, (event: AppEvent) => ActionOverrides | null>> = {
  AppUserNotification: describeNotification,
  AgentSessionEvent: describeSession,
}

/** By action: what somebody did, before the name of the thing. */
const notifications: Readonly<Record<string, string>> = {
  issueAssignedToYou: 'assigned you to',
  issueUnassignedFromYou: 'unassigned you from',
  issueMention: 'mentioned you in',
  issueCommentMention: 'mentioned you in a comment on',
  issueNewComment: 'commented on',
  issueStatusChanged: 'changed the status of',
  issueEmojiReaction: 'reacted to',
  issueCommentReaction: 'reacted to your comment on',
}

function describeNotification({ action, notification }: AppEvent): ActionOverrides | null {
  if (!notification) return null
  const { actor, issue, comment, project, projectUpdate, document, reactionEmoji: emoji } = notification
  const who = line(actor?.name, 100) || 'Somebody'
  const thing = issue
    ? issueName(issue)
    : project
      ? words('project', quote(project.name))
      : document
        ? words('document', quote(document.title))
        : 'something'
  const verb = entryOf(notifications, action)
  const head = verb ? `${who} ${verb} ${thing}` : `${who}: ${camelWords(action)}, ${thing}`
  return {
    message: eventMessage('Linear', {
      head,
      details: [emoji && `Reaction: ${emoji}`],
      link: issue?.url ?? project?.url,
      text: comment?.body ?? projectUpdate?.body ?? (action === 'issueAssignedToYou' ? issue?.description : undefined),
    }),
    sessionKey: keyOf(issue?.id ?? notification.issueId ?? project?.id ?? document?.id ?? notification.id),
  }
}

const longestPrompt = 12_000

/** A session starts when somebody mentions the app or delegates an issue to it; later, people write to it. */
function describeSession({ action, agentSession, agentActivity, promptContext }: AppEvent): ActionOverrides | null {
  if (!agentSession) return null
  const { creator, issue, comment, url } = agentSession
  const who = line(agentActivity?.user?.name ?? creator?.name, 100) || 'Somebody'
  const on = issue ? `on ${issueName(issue)}` : ''
  const heads: Record<string, string> = {
    created: words(who, 'started a session with you', on),
    prompted: words(who, 'wrote to you in a session', on),
  }
  const written = textOf(fieldsOf(agentActivity?.content)['body'])
  return {
    message: eventMessage(
      'Linear',
      {
        head: entryOf(heads, action) ?? words(`${who}: agent session`, camelWords(action), on),
        details: [agentActivity?.signal && `Signal: ${agentActivity.signal}`],
        link: url ?? issue?.url,
        text: written ?? promptContext ?? comment?.body ?? issue?.description,
      },
      longestPrompt,
    ),
    sessionKey: keyOf(issue?.id ?? agentSession.issueId ?? agentSession.id),
  }
}

const issueName = ({ identifier, title }: NonNullable<Static<typeof Issue>>): string =>
  words('issue', identifier, quote(title))

/** `issueDue` becomes `issue due`. */
export const camelWords = (name: string): string =>
  line(name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase(), 100)

export const keyOf = (id: string | null | undefined): string => `hook:linear:${line(id, 200) || 'linear'}`
