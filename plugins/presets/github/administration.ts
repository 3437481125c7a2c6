// Changes of members, teams, repositories and apps.
import { entryOf, listFields, plain, quote, words } from 'svc-gateway/kit'
import { changesOf, statusChanges } from './changes.ts'
import { type EventHandler, type EventText, mostListed, nameOf } from './event-text.ts'
import type { Payload } from './payload.ts'

export const describeMember: EventHandler = ({ action, member, changes }, who) => {
  const name = member?.login ?? 'somebody'
  const heads: Record<string, string> = {
    // Whoever accepts an invitation is also the sender.
    added: who === name ? `${name} is now a collaborator` : `${who} added ${name} as a collaborator`,
    removed: who === name ? `${name} is no longer a collaborator` : `${who} removed ${name} as a collaborator`,
    edited: `${who} changed the permissions of ${name}`,
  }
  return headOf(heads, action, changesOf(changes))
}

export const describeMembership: EventHandler = ({ action, member, team }, who) => {
  const name = member?.login ?? 'somebody'
  const heads: Record<string, string> = {
    added: words(who, 'added', name, 'to team', quote(team?.name)),
    removed: words(who, 'removed', name, 'from team', quote(team?.name)),
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
  const role = action === 'member_added' && membership?.role
  return headOf(heads, action, [role ? `Role: ${plain(role)}` : ''])
}

export const describeBlock: EventHandler = ({ action, blocked_user: user }, who) => ({
  head: words(who, plain(action) || 'blocked', user?.login ?? 'somebody'),
})

export const describeTeam: EventHandler = ({ action, team, changes, repository }, who) => {
  const name = words('team', quote(team?.name))
  const heads: Record<string, string> = {
    created: `${who} created ${name}`,
    deleted: `${who} deleted ${name}`,
    edited: `${who} changed ${name}`,
    added_to_repository: `${who} gave ${name} access`,
    removed_from_repository: `${who} removed the access of ${name}`,
  }
  const text = headOf(heads, action ?? 'added_to_repository', changesOf(changes, team, { repository }))
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
  const text = headOf(heads, action, action === 'edited' ? changesOf(changes, repository) : [])
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
  return text && { head: words(text.head, account && `for ${account}`), details: listOf(repositories), account }
}

export const describeInstalledRepositories: EventHandler = (payload, who) => {
  const { action, installation, repositories_added: added, repositories_removed: removed } = payload
  const app = words('the app', quote(installation?.app_slug))
  return action === 'removed'
    ? {
        head: `${who} removed repositories from ${app}`,
        details: listOf(removed),
        account: installation?.account?.login,
      }
    : { head: `${who} added repositories to ${app}`, details: listOf(added), account: installation?.account?.login }
}

function listOf(repositories: Payload['repositories']): string[] {
  const names = (repositories ?? []).flatMap(({ full_name: name }) => name ?? [])
  const more = names.length > mostListed ? [`- and ${names.length - mostListed} more`] : []
  return [...names.slice(0, mostListed).map((name) => `- ${name}`), ...more]
}

export const describePurchase: EventHandler = (payload, who) => {
  const { action, marketplace_purchase: purchase, previous_marketplace_purchase: before, effective_date: day } = payload
  const account = purchase?.account?.login
  const buyer = account ?? who
  const plan = words('plan', quote(purchase?.plan?.name))
  const heads: Record<string, string> = {
    purchased: `${buyer} purchased ${plan}`,
    cancelled: `${buyer} cancelled ${plan}`,
    changed: `${buyer} changed to ${plan}`,
    pending_change: `${buyer} will change to ${plan}`,
    pending_change_cancelled: `${buyer} stays with ${plan}`,
  }
  const text = headOf(heads, action, [
    before?.plan?.name ? `Plan before: ${quote(before.plan.name)}` : '',
    action?.startsWith('pending') && day ? `From: ${day}` : '',
  ])
  return text && { ...text, account }
}

export const describeSponsorship: EventHandler = ({ action, sponsorship, changes, effective_date: day }, who) => ({
  head: words(
    `The sponsorship of ${sponsorship?.sponsorable?.login ?? 'somebody'} by ${sponsorship?.sponsor?.login ?? who}:`,
    plain(action) || 'changed',
    sponsorship?.tier?.name && `(${sponsorship.tier.name})`,
  ),
  details: [...changesOf(changes, sponsorship), day ? `From: ${day}` : ''],
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
  const permissions = listFields(request?.permissions_result ?? {}, { labelOf: (path) => plain(path.join(' ')) })
  const expiry = request?.token_expires_at
  return headOf(heads, action, [
    ...permissions.map((permission) => `- ${permission}`),
    ...listOf(request?.repositories),
    expiry ? `Expires: ${expiry}` : '',
  ])
}

/** The values of properties that an organization has defined for its repositories. */
export const describeProperties: EventHandler = (payload, who) => {
  const { new_property_values: now, old_property_values: before } = payload
  const byName = (values: typeof now) =>
    Object.fromEntries((values ?? []).map(({ property_name: name, value }) => [name ?? 'property', value]))
  const changes = Object.entries({ ...byName(before), ...byName(now) }).map(([name]) => [
    name,
    { from: byName(before)[name] ?? null, to: byName(now)[name] ?? null },
  ])
  return {
    head: `${who} changed the custom properties of the repository`,
    details: changesOf(Object.fromEntries(changes)),
  }
}

export const describeSecuritySettings: EventHandler = ({ changes, repository }, who) => ({
  head: `${who} changed the security settings of the repository`,
  details: statusChanges(changes?.from?.security_and_analysis, repository?.security_and_analysis),
})

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
function headOf(
  heads: Readonly<Record<string, string>>,
  action: Payload['action'],
  details?: readonly string[],
): EventText | null {
  const head = entryOf(heads, action)
  return head === undefined ? null : { head, details }
}
