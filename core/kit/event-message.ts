// The message about an event of a service: a head, details and a link of one line each, and a text.
import { clip, line, lines, words } from './text.ts'

/** An event of a service, for somebody who may have to act on it. Only `text` may have several lines. */
export interface EventText {
  /** Who did what, without a full stop. */
  head: string
  /** Where it happened, such as a repository: `… in acme/shop`. */
  place?: string | null | undefined
  /** One line each; blank ones are left out. */
  details?: readonly (string | false | null | undefined)[] | undefined
  /** An address of the service. */
  link?: string | null | undefined
  /** What somebody wrote, such as the body of an issue. */
  text?: string | null | undefined
}

const longestLine = 500
const mostDetails = 12_000

/**
 * Writes the message: `GitHub: octocat opened issue #7 "Broken" in acme/shop`, the details, the link, and after an
 * empty line the text. Every part but `text` becomes one line without control and direction characters, of at most 500
 * characters; the details together have at most 12,000 characters, and the text has at most `textLength`.
 */
export function eventMessage(
  service: string,
  { head, place, details = [], link, text }: EventText,
  textLength = 2000,
): string {
  const where = line(place)
  return lines(
    words(`${service}: ${line(head, longestLine)}`, where && `in ${where}`),
    ...bounded(details.map((detail) => line(detail || '', longestLine)).filter(Boolean)),
    line(link, 2000),
    text && `\n${clip(text, textLength)}`,
  )
}

function bounded(details: readonly string[]): string[] {
  let length = 0
  const kept = details.filter((detail) => (length += detail.length) <= mostDetails)
  const more = details.length - kept.length
  return more > 0 ? [...kept, `and ${more} more ${more === 1 ? 'line' : 'lines'}`] : kept
}
