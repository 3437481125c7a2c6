// Changes of members, teams, repositories and apps.
import { entryOf, plain, quote, words } from 'svc-gateway/kit'
import { type EventHandler, type EventText, mostListed, nameOf } from './event-text.ts'
import type { Payload } from './payload.ts'

export const describeMember: EventHandler = ({ action, member }, who) => {
  const name = member?.login ?? 'somebody'
  const heads: Record<string, string> = {
    added: `${who} added ${name} as a collaborator`,
    removed: `${who} removed ${name} as a collaborator`,
    edited: `${who} changed the permissions of ${name}`,
  }
  return headOf(heads, action)
}

export const describeMembership: EventHandler = ({ action, member, team }, who) => {
  const heads: Record<string, string> = {
    added: words(who, 'added', member?.login ?? 'somebody', 'to team', quote(team?.name)),
    removed: words(who, 'removed', member?.login ?? 'somebody', 'from team', quote(team?.name)),
  }
  return headOf(heads, action)
}

export const describeOrganization: EventHandler = ({ action, membership, invitation, changes, organization }, who) => {
  const member = membership?.user?.login ?? 'somebody'
  const before = changes?.login?.from
  const heads: Record<string, string> = {
    member_added: `${who} added ${member} as a member`,
    member_removed: `${who} removed ${member} as a member`,
    member_invited: `${who} invited ${invitation?.login ?? invitation?.email ?? 'somebody'} as a member`,
    renamed: words(
      who,
      'renamed the organization',
      typeof before === 'string' && `from ${before}`,
      organization?.login && `to ${organization.login}`,
    ),
    deleted: `${who} deleted the organization`,
  }
  return headOf(heads, action)
}

export const describeBlock: EventHandler = ({ action, blocked_user: user }, who) => ({
  head: words(who, plain(action) || 'blocked', user?.login ?? 'somebody'),
})

export const describeTeam: EventHandler = ({ action, team }, who) => {
  const name = words('team', quote(team?.name))
  const heads: Record<string, string> = {
    created: `${who} created ${name}`,
    deleted: `${who} deleted ${name}`,
    edited: `${who} changed ${name}`,
    added_to_repository: `${who} gave ${name} access`,
    removed_from_repository: `${who} removed the access of ${name}`,
  }
  const text = headOf(heads, action ?? 'added_to_repository')
  return text && { ...text, link: team?.html_url }
}

export const describeRepository: EventHandler = ({ action, changes, repository }, who) => {
  const name = changes?.repository?.name?.from
  const owner = changes?.owner?.from as Partial<Record<string, { login?: unknown }>> | null | undefined
  const formerOwner = owner?.['user']?.login ?? owner?.['organization']?.login
  const heads: Record<string, string> = {
    created: `${who} created the repository`,
    deleted: `${who} deleted the repository`,
    archived: `${who} archived the repository`,
    unarchived: `${who} unarchived the repository`,
    edited: `${who} changed the settings of the repository`,
    publicized: `${who} made the repository public`,
    privatized: `${who} made the repository private`,
    renamed: words(who, 'renamed the repository', typeof name === 'string' && `from ${quote(name)}`),
    transferred: words(who, 'transferred the repository', typeof formerOwner === 'string' && `from ${formerOwner}`),
  }
  const text = headOf(heads, action)
  return text && { ...text, link: repository?.html_url }
}

export const describeImport: EventHandler = ({ status }) => ({
  head: words('The import of the repository ended', typeof status === 'string' && `with ${plain(status)}`),
})

export const describeInstallation: EventHandler = ({ action, installation, repositories }, who) => {
  const app = words('the app', quote(installation?.app_slug))
  const account = installation?.account?.login
  const heads: Record<string, string> = {
    created: `${who} installed ${app}`,
    deleted: `${who} uninstalled ${app}`,
    suspend: `${who} suspended ${app}`,
    unsuspend: `${who} unsuspended ${app}`,
    new_permissions_accepted: `${who} accepted the new permissions of ${app}`,
  }
  const text = headOf(heads, action)
  return text && { head: words(text.head, account && `for ${account}`), details: listOf(repositories) }
}

export const describeInstalledRepositories: EventHandler = (payload, who) => {
  const { action, installation, repositories_added: added, repositories_removed: removed } = payload
  const app = words('the app', quote(installation?.app_slug))
  return action === 'removed'
    ? { head: `${who} removed repositories from ${app}`, details: listOf(removed) }
    : { head: `${who} added repositories to ${app}`, details: listOf(added) }
}

function listOf(repositories: Payload['repositories']): string[] {
  const names = (repositories ?? []).flatMap(({ full_name: name }) => name ?? [])
  const more = names.length > mostListed ? [`- and ${names.length - mostListed} more`] : []
  return [...names.slice(0, mostListed).map((name) => `- ${name}`), ...more]
}

export const describePurchase: EventHandler = ({ action, marketplace_purchase: purchase }, who) => {
  const buyer = purchase?.account?.login ?? who
  const plan = words('plan', quote(purchase?.plan?.name))
  const heads: Record<string, string> = {
    purchased: `${buyer} purchased ${plan}`,
    cancelled: `${buyer} cancelled ${plan}`,
    changed: `${buyer} changed to ${plan}`,
    pending_change: `${buyer} will change to ${plan}`,
    pending_change_cancelled: `${buyer} stays with ${plan}`,
  }
  return headOf(heads, action)
}

export const describeSponsorship: EventHandler = ({ action, sponsorship }, who) => ({
  head: words(
    `The sponsorship of ${sponsorship?.sponsorable?.login ?? 'somebody'} by ${sponsorship?.sponsor?.login ?? who}:`,
    plain(action) || 'changed',
    sponsorship?.tier?.name && `(${sponsorship.tier.name})`,
  ),
})

export const describeTokenRequest: EventHandler = ({ action, personal_access_token_request: request }, who) => {
  const owner = request?.owner?.login ?? who
  const name = words('personal access token', quote(request?.token_name))
  const heads: Record<string, string> = {
    created: `${owner} asks for access with ${name}`,
    approved: `${who} approved the request of ${owner} for access with ${name}`,
    denied: `${who} denied the request of ${owner} for access with ${name}`,
    cancelled: `${owner} no longer asks for access with ${name}`,
  }
  return headOf(heads, action)
}

/** GitHub reports the same change as `parent_issue_added`. */
export const describeSubIssue: EventHandler = ({ action, sub_issue: sub, parent_issue: parent }, who) => {
  const heads: Record<string, string> = {
    sub_issue_added: `${who} added ${nameOf(sub, 'sub-issue')} to ${nameOf(parent)}`,
    sub_issue_removed: `${who} removed ${nameOf(sub, 'sub-issue')} from ${nameOf(parent)}`,
  }
  const text = headOf(heads, action)
  return text && { ...text, link: parent?.html_url, number: parent?.number }
}

/** GitHub reports the same change as `blocking_added`. */
export const describeDependency: EventHandler = ({ action, blocked_issue: blocked, blocking_issue: by }, who) => {
  const heads: Record<string, string> = {
    blocked_by_added: `${who} marked ${nameOf(blocked)} as blocked by ${nameOf(by)}`,
    blocked_by_removed: `${who} marked ${nameOf(blocked)} as no longer blocked by ${nameOf(by)}`,
  }
  const text = headOf(heads, action)
  return text && { ...text, link: blocked?.html_url, number: blocked?.number }
}

/** An action that is not in the table is skipped. */
function headOf(heads: Readonly<Record<string, string>>, action: Payload['action']): EventText | null {
  const head = entryOf(heads, action)
  return head === undefined ? null : { head }
}
