// How services that host Git repositories name things.
import type { EventText } from './event-message.ts'
import { quote, words } from './text.ts'

/** A name of an API as words: `review_requested` → `review requested`. */
export const plain = (name: string | null | undefined): string => name?.trim().replaceAll(/[_\s]+/g, ' ') ?? ''

/** The first seven characters of a commit's hash. */
export const shortHash = (hash: string | null | undefined): string => hash?.slice(0, 7) ?? ''

/** The name of a branch or tag: `refs/heads/main` → `main`. */
export const refName = (ref: string | null | undefined): string => ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''

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
