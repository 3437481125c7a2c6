// How services that host Git repositories name things.
import type { EventText } from './event-message.ts'
import { quote, words } from './text.ts'

/** A name of an API as words: `review_requested` → `review requested`. */
export const plain = (name: string | null | undefined): string => name?.trim().replaceAll(/[_\s]+/g, ' ') ?? ''

/** The first seven characters of a commit's hash. */
export const shortHash = (hash: string | null | undefined): string => hash?.slice(0, 7) ?? ''

/** The name of a branch or tag: `refs/heads/main` → `main`. */
export const refName = (ref: string | null | undefined): string => ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''

/** A repository in the payloads of GitHub, Gitea and Gogs. Old versions have no `full_name`. */
export interface NamedRepository {
  full_name?: string | null | undefined
  name?: string | null | undefined
  owner?: { login?: string | null | undefined; username?: string | null; name?: string | null } | null | undefined
  html_url?: string | null | undefined
}

/** The path of a repository, such as `octo/repo`: its full name, or that of its owner and its own, or its address. */
export function repositoryPath(repository: NamedRepository | null | undefined): string | undefined {
  const { full_name: path, name, owner, html_url: url } = repository ?? {}
  const ownerName = owner?.login || owner?.username || owner?.name
  if (path) return path
  if (ownerName && name) return `${ownerName}/${name}`
  return (url && URL.parse(url)?.pathname.replaceAll(/^\/|\/$/g, '')) || name || undefined
}

/** A release as GitHub, Gitea and Forgejo describe it. */
export interface Release {
  name?: string | null | undefined
  tag_name?: string | null | undefined
  html_url?: string | null | undefined
  body?: string | null | undefined
}

/** Describes the event of a release that was published or deleted. Returns `null` for any other action. */
export function describeRelease(
  { action, release }: { action?: string | null | undefined; release?: Release | null | undefined },
  who: string,
): EventText | null {
  if (action !== 'published' && action !== 'deleted') return null
  const title = release?.name !== release?.tag_name && quote(release?.name)
  return {
    head: words(who, action, 'release', release?.tag_name, title),
    link: release?.html_url,
    text: action === 'published' ? release?.body : undefined,
  }
}
