// The addresses in a message that a platform or an app would fetch by itself.

const link = /https?:\/\/[^\s)>"'\]]+/g

export const linksIn = (text: string): string[] => text.match(link) ?? []

/** Markdown's pictures, and those of HTML. */
export const picturesIn = (text: string): string[] =>
  (text.match(/!\[[^\]]*\]\([^)]*\)|<img\s[^>]*>/gi) ?? []).flatMap(linksIn)
