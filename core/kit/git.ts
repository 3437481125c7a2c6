// How services that host Git repositories name things.

/** A name of an API as words: `review_requested` → `review requested`. */
export const plain = (name: string | null | undefined): string => name?.trim().replaceAll(/[_\s]+/g, ' ') ?? ''

/** The first seven characters of a commit's hash. */
export const shortHash = (hash: string | null | undefined): string => hash?.slice(0, 7) ?? ''

/** The name of a branch or tag: `refs/heads/main` → `main`. */
export const refName = (ref: string | null | undefined): string => ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''
