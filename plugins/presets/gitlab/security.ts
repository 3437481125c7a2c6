// Vulnerabilities, and tokens that expire.
import { plain, quote, words } from 'svc-gateway/kit'
import { dayOf, type EventHandler } from './event-text.ts'

/** GitLab does not say who changed the state of a vulnerability, and gives only the number of the project. */
export const describeVulnerability: EventHandler = ({ object_attributes: found }) => ({
  head: words(
    'Vulnerability',
    found?.severity && `(${found.severity})`,
    quote(found?.title),
    found?.state ? `is ${plain(found.state)}` : 'was reported',
  ),
  details: [found?.report_type && `Found by: ${plain(found.report_type)}`],
  link: found?.url,
})

export const describeToken =
  (kind: string): EventHandler =>
  ({ object_attributes: token, group }) => {
    const day = dayOf(token?.expires_at)
    return {
      head: words(`The ${kind}`, quote(token?.name), day ? `expires on ${day}` : 'expires soon'),
      where: group?.full_path ?? group?.group_path,
    }
  }
