// Members of groups and projects, and what a whole instance reports: projects, groups, users and keys.
import { quote, words } from 'svc-gateway/kit'
import { dayOf, type EventHandler } from './event-text.ts'
import type { Payload } from './payload.ts'

/** In these events, the user is the one who is added or removed. GitLab does not say by whom. */
const memberEvents: Readonly<Record<string, string>> = {
  user_add_to_group: 'was added to',
  user_update_for_group: 'has a changed membership of',
  user_remove_from_group: 'was removed from',
  user_access_request_to_group: 'asks for access to',
  user_access_request_revoked_for_group: 'no longer asks for access to',
  user_access_request_denied_for_group: 'was denied access to',
  user_add_to_team: 'was added to',
  user_update_for_team: 'has a changed membership of',
  user_remove_from_team: 'was removed from',
  user_access_request_to_project: 'asks for access to',
  user_access_request_revoked_for_project: 'no longer asks for access to',
  user_access_request_denied_for_project: 'was denied access to',
}

const describeMember =
  (change: string): EventHandler =>
  (payload) => {
    const role = payload.group_access ?? payload.access_level
    const project = payload.project_path_with_namespace ?? payload.project_name
    const group = payload.group_path ?? payload.group_name
    const place = project ? `project ${project}` : words('group', group)
    return {
      head: `${personOf(payload.user_name, payload.user_username)} ${change} ${place}`,
      details: [role && `Role: ${role}`, payload.expires_at && `Until: ${dayOf(payload.expires_at)}`],
      where: project ?? group,
    }
  }

/** What happened to a project, group, user or key. GitLab does not say who did it. */
const changes: Readonly<Record<string, string>> = {
  project_create: 'was created',
  project_destroy: 'was deleted',
  project_rename: 'was renamed',
  project_transfer: 'was transferred',
  project_update: 'was changed',
  group_create: 'was created',
  group_destroy: 'was deleted',
  group_rename: 'was renamed',
  subgroup_create: 'was created',
  subgroup_destroy: 'was deleted',
  user_create: 'was created',
  user_destroy: 'was deleted',
  user_rename: 'has a new username',
  user_failed_login: 'tried to sign in, but is blocked',
  key_create: 'was added',
  key_destroy: 'was removed',
}

function describeChange(event: string, change: string): EventHandler {
  const kind = event.split('_', 1)[0] ?? ''
  return (payload) => {
    const place = payload.path_with_namespace ?? payload.full_path ?? payload.path
    const before = payload.old_path_with_namespace ?? payload.old_full_path ?? payload.old_username
    const isUser = kind === 'user' || kind === 'key'
    const person = personOf(payload.name, payload.username)
    // An administrator can add and remove the keys of others.
    const subject = isUser
      ? words(kind === 'key' ? 'An SSH key of user' : 'User', person)
      : words(kinds[kind], place ?? quote(payload.name))
    return {
      head: `${subject} ${change}`,
      details: [
        isUser && payload.email && `Email: ${payload.email}`,
        before && `Before: ${before}`,
        payload.project_visibility && `Visibility: ${payload.project_visibility}`,
      ],
      where: isUser ? undefined : place,
    }
  }
}

const kinds: Readonly<Record<string, string>> = { project: 'Project', group: 'Group', subgroup: 'Subgroup' }

function personOf(name: Payload['name'], username: Payload['username']): string {
  if (!name) return username || 'somebody'
  return username && username !== name ? `${name} (${username})` : name
}

export const accountEvents: Readonly<Record<string, EventHandler>> = Object.fromEntries([
  ...Object.entries(memberEvents).map(([event, change]) => [event, describeMember(change)] as const),
  ...Object.entries(changes).map(([event, change]) => [event, describeChange(event, change)] as const),
])
